"""Make the reference of settings from the two records that hold them, and from the code that reads them."""

import ast
from pathlib import Path

from scripts.reference.markdown import code, head, page, table
from scripts.reference.signatures import record_fields

import weft
from weft.config import ServeSettings

_VARIABLES = {
    "WEFT_STORE": "The folder of the store, or the `postgresql://` URL of one on a server; as `--store`.",
    "WEFT_INDEX": "How a store on a server is searched: `server`, `files` or a `milvus://` URL; as `--index`.",
    "WEFT_EMBEDDER": "The embedder, such as `static`, `quality`, `none` or `openai:MODEL@URL`; as `--embedder`.",
    "WEFT_API_KEY": "The key for the endpoint of an `openai:` embedder; sent there and nowhere else.",
    "WEFT_ASK_URL": "The server whose model `weft ask` asks, with an API like OpenAI's; as `--endpoint`.",
    "WEFT_ASK_MODEL": "The name of that model; as `--model`.",
    "WEFT_ASK_KEY": "The key for that server; sent there and nowhere else.",
    "WEFT_TANA_TOKEN": "The token for a running Tana; sent to the address of a `tana:` source and nowhere else.",
    "WEFT_SERVED": "The settings of a service, passed on to its worker processes; not for users to set.",
    "PROMETHEUS_MULTIPROC_DIR": "The folder in which the processes of a service add up their metrics; set by "
    "`weft serve` for its workers.",
    "OPENBLAS_NUM_THREADS": "Set to 1 for programs that live for a moment, unless it is set.",
    "XDG_RUNTIME_DIR": "Where sockets of the running servers stand; `/tmp/weft-UID` if it is not set.",
    "VIRTUAL_ENV": "The active Python environment, whose packages `weft index --dependencies` reads.",
    "NO_COLOR": "Any value turns colours off.",
}
"""The meaning of each environment variable; a variable that the code reads and this table lacks is an error."""

_STORE = (
    "The first of these that there is: `--store`, `WEFT_STORE`, the nearest `.weft/` in the working folder or "
    "above it, the user's data folder for `weft`. `weft index` makes a `.weft/` in the working folder where there "
    "is none. A store on a server has a folder below the user's data folder, for its keys, its profiles and its "
    "kept contexts."
)

_FILES = (
    (".weft/weft.sqlite", "the store: nodes, links, passages, vectors; the one file that cannot be made again"),
    (".weft/contexts.sqlite", "pages that were handed out, for `weft diff`, `weft history` and sessions"),
    (".weft/derived/", "search files; deleting them loses nothing, the next question makes them again"),
    (".weft/trees/", "sizes and times of files as they were read, to notice changes before an answer"),
    (".weft/profiles/*.toml", "profiles and lenses of your own for this store"),
    (".weft/keys.json", "the digests of the keys of a service, never the keys themselves"),
    (".weft/audit.log", "who changed what through a service; rotated at 10 MB"),
)


def settings_page() -> str:
    """Return every variable of the environment, the settings of a service, and the files of a store."""
    unknown = variables_read() - set(_VARIABLES)
    if unknown:
        raise SystemExit(f"scripts/reference/settings.py says nothing of {', '.join(sorted(unknown))}.")
    lines = head(
        "Settings",
        "Weft has no settings file. A command decides from its options first, then from the environment, then "
        "from what it finds: the nearest `.weft/` above the working folder, and profiles beside it. Only "
        "`src/weft/config.py` reads the environment.",
    )
    lines += ["## Environment variables", ""]
    lines += table(("variable", "meaning"), ((code(name), meaning) for name, meaning in _VARIABLES.items()))
    lines += ["## Where the store is", "", _STORE, ""]
    lines += ["## Settings of a service", "", "As `weft serve` passes them to its processes; its "]
    lines[-1] += "[options](command-line.md#weft-serve) set them."
    rows = ((code(each.name), code(each.type), each.default, each.note) for each in record_fields(ServeSettings))
    lines += ["", *table(("setting", "type", "default", "meaning"), rows)]
    lines += [
        "## Files of a store",
        "",
        *table(("file", "what it holds"), ((code(name), said) for name, said in _FILES)),
    ]
    return page(lines)


def variables_read() -> set[str]:
    """Return the variables of the environment that the package reads or sets, found in its source."""
    found: set[str] = set()
    for path in sorted(Path(weft.__file__).parent.rglob("*.py")):
        text = path.read_text("utf-8")
        if "os.environ" in text:
            found |= {
                node.value
                for node in ast.walk(ast.parse(text))
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and _is_variable(node.value)
            }
    return found


def _is_variable(text: str) -> bool:
    return text.isidentifier() and text.isupper() and ("_" in text)
