"""Open embedders behind one port: the static model that ships with Weft, local models, and endpoints.

Each kind is imported when it is opened, because numpy and the model libraries are slow to load.
"""

from weft.errors import InvalidInput, UnknownName
from weft.ports import Embedder

DEFAULT_EMBEDDER = "static"
"""The model that ships with Weft: it needs no download and no server."""
OWN_MODELS = "weft-static-"
"""How the names of all models begin that ship, or shipped, with Weft."""
TIMEOUT_SECONDS = 30.0
"""How long an endpoint may take for one request: a local server loads its model within it."""

_FORMS = {
    "static": "static",
    "none": "none",
    "quality": "quality",
    "onnx": "onnx:PATH",
    "sentence-transformers": "sentence-transformers:NAME_OR_PATH",
    "fastembed": "fastembed:NAME",
    "openai": "openai:MODEL@URL, for example openai:nomic-embed-text@http://localhost:11434/v1",
}
"""How each kind of embedder is written in a spec, for error messages."""
_LOCAL = {
    "onnx": "open_onnx",
    "sentence-transformers": "open_sentence_transformer",
    "fastembed": "open_fastembed",
}
"""The function of `embed/models.py` that opens each kind of local model."""


def open_embedder(
    spec: str | None = None, *, api_key: str | None = None, timeout: float = TIMEOUT_SECONDS
) -> Embedder | None:
    """Open the embedder that a spec such as `static`, `onnx:PATH` or `openai:MODEL@URL` names; None for `none`."""
    kind, _, argument = (spec or DEFAULT_EMBEDDER).strip().partition(":")
    # Not an error: a store can be searched by words and links alone.
    if kind == "none":
        return None
    if kind == "static":
        from weft.embed.static import static_embedder

        return static_embedder()
    if kind == "quality":
        from weft.embed.quality import StaticWithQuality, quality_embedder
        from weft.embed.static import static_embedder

        return StaticWithQuality(static_embedder(), quality_embedder())
    if kind == "openai":
        return _open_openai(argument, api_key, timeout)
    if kind not in _LOCAL:
        return _open_plugin(kind, argument)
    if not argument:
        raise InvalidInput(f"The embedder {kind!r} needs a model. Write {_FORMS[kind]}.")
    from weft.embed import models

    embedder: Embedder = getattr(models, _LOCAL[kind])(argument)
    return embedder


def _open_plugin(kind: str, argument: str) -> Embedder:
    """Open an embedder that another package brings."""
    from weft.ports.plugins import EMBEDDERS, find_plugin, list_plugins

    plugin = find_plugin(EMBEDDERS, kind)
    if plugin is None:
        known = (*_FORMS, *(each.name for each in list_plugins(EMBEDDERS)))
        raise UnknownName("embedder", kind, known, "Write one of these forms.")
    embedder: Embedder = plugin.load()(argument)
    return embedder


def is_own_model(name: str) -> bool:
    """Return whether an embedder is, by its name, a model that ships or shipped with Weft."""
    return name.startswith(OWN_MODELS)


def _open_openai(argument: str, api_key: str | None, timeout: float) -> Embedder:
    from weft.embed.models import EndpointEmbedder

    # Names of models may hold colons, so the address is separated by another sign.
    model, _, url = argument.partition("@")
    if not model or not url.startswith(("http://", "https://")):
        raise InvalidInput(
            f"The embedder 'openai:{argument}' needs a model and an address. Write {_FORMS['openai']}."
        )
    return EndpointEmbedder(model, url, api_key, timeout)
