"""Embedders behind one port: the static model that ships with Weft, local models, and endpoints."""

from collections.abc import Callable

from weft.errors import InvalidInput, UnknownName
from weft.ports import Embedder

DEFAULT = "static"
TIMEOUT_SECONDS = 30.0


def open_embedder(
    spec: str | None = None, *, api_key: str | None = None, timeout: float = TIMEOUT_SECONDS
) -> Embedder | None:
    """The embedder that a spec such as `static`, `onnx:PATH` or `openai:MODEL@URL` names; None for `none`."""
    kind, _, argument = (spec or DEFAULT).strip().partition(":")
    if kind == "none":
        return None
    if kind == "static":
        return _static()
    if kind == "openai":
        return _openai(argument, api_key, timeout)
    if kind not in _LOCAL:
        raise UnknownName("embedder", kind, _FORMS, "Write one of these forms.")
    if not argument:
        raise InvalidInput(f"The embedder {kind!r} needs a model. Write {_FORMS[kind]}.")
    return _LOCAL[kind](argument)


def _static() -> Embedder:
    from weft.embed.static import static_embedder

    return static_embedder()


def _openai(argument: str, api_key: str | None, timeout: float) -> Embedder:
    from weft.embed.models import open_endpoint

    model, _, url = argument.partition("@")
    if not model or not url.startswith(("http://", "https://")):
        raise InvalidInput(
            f"The embedder 'openai:{argument}' needs a model and an address. Write {_FORMS['openai']}."
        )
    return open_endpoint(model, url, api_key, timeout)


def _onnx(path: str) -> Embedder:
    from weft.embed.onnx import open_onnx

    return open_onnx(path)


def _sentence_transformers(name: str) -> Embedder:
    from weft.embed.models import open_sentence_transformer

    return open_sentence_transformer(name)


def _fastembed(name: str) -> Embedder:
    from weft.embed.models import open_fastembed

    return open_fastembed(name)


_LOCAL: dict[str, Callable[[str], Embedder]] = {
    "onnx": _onnx,
    "sentence-transformers": _sentence_transformers,
    "fastembed": _fastembed,
}
_FORMS = {
    "static": "static",
    "none": "none",
    "onnx": "onnx:PATH",
    "sentence-transformers": "sentence-transformers:NAME_OR_PATH",
    "fastembed": "fastembed:NAME",
    "openai": "openai:MODEL@URL, for example openai:nomic-embed-text@http://localhost:11434/v1",
}
