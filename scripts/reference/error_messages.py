"""Make the reference of errors from every place in the package that raises one."""

import ast
import inspect
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from msgspec import Struct
from scripts.reference.markdown import cell, code, head, page, table

import weft
from weft import errors
from weft.interfaces.rest.problems import _TITLES as TITLES

_ADVICE = {
    "InvalidInput": "Correct the value that the message names. Nothing was read or written.",
    "UnknownName": "Take one of the names that the message lists; it suggests the nearest.",
    "ProfileError": "Correct the key that the message names; `weft profile check FILE` lists all problems.",
    "SourceError": "Look at the place that the message names. What the store has of the source is kept.",
    "StoreError": "Look at the folder or server that the message names; `weft doctor` says more.",
    "StoreTooNew": "Update Weft: `pip install --upgrade weft-context`. The store is not touched.",
    "StoreCorrupt": "Run `weft doctor --repair`; if it cannot help, restore a backup or index the sources again.",
    "StoreReadOnly": "Write to another store, or give the folder's permissions back.",
    "StoreBusy": "Wait for the other writer, or stop it. Questions are answered meanwhile.",
    "StoreUnreachable": "Try again; if it stays, check the server and the address in `--store`.",
    "StoreTimedOut": "Do not retry at once: look at the server's load first.",
    "EmbedderMismatch": "Ask with the embedder that the message names, or run `weft reembed`.",
    "EmbedderError": "Check the model's file or endpoint, or ask without meaning: `--embedder none`.",
    "MissingExtra": "Run the command of the message, which suits the way Weft was installed.",
    "MissingPackage": "Run the command of the message.",
}
"""The advice for each error; where a message itself says something more precise, that counts."""

_STATUS_ADVICE = {
    400: "Send valid JSON.",
    401: "Send `Authorization: Bearer KEY` with a key of `weft keys create`.",
    403: "Ask for a key with the scope, tenant or route that the detail names.",
    404: "Check the name; the detail lists what there is.",
    405: "Use one of the methods in the header `Allow`.",
    408: "Send the body faster, or in smaller parts.",
    409: "Read the thing again and decide; the detail says what it collides with.",
    412: "Read it again, and send the new `ETag` in `If-Match`.",
    413: "Send fewer or smaller items; the detail has the limit.",
    414: "Send the names in a body instead of the path.",
    415: "Send `Content-Type: application/json`.",
    421: "Ask under a name that `weft serve --allowed-host` was given.",
    422: "Correct the fields listed in `errors`.",
    429: "Wait for the seconds in `Retry-After`.",
    431: "Send fewer or shorter headers.",
    500: "Look in the service's log for the `X-Request-Id`, and report it.",
    503: "Wait for the seconds in `Retry-After`, then try again.",
}


PROBLEM = "Problem"
"""The error that the service raises for an answer of its own; its first argument is the status."""


class Raised(Struct, frozen=True, order=True):
    """A message as it stands in the source: parts that depend on the case are in braces."""

    error: str
    message: str
    where: str


def errors_page() -> str:
    """Return every error with its messages and what to do, then the statuses of the service."""
    lines = head(
        "Errors",
        "Every message that Weft raises on purpose, word for word, by the class of the error. Words in braces "
        "stand for a value of the case. On the command line it is one line on stderr that begins with `weft: `.",
        "Search this page for the words that do not change.",
    )
    kinds, found = error_classes(), defaultdict(list)
    for each in raised():
        found[each.error].append(each)
    lines += table(
        ("error", "exit code", "what to do"),
        ((f"[`{name}`](#{name.lower()})", _exit_code(kind), advice(name)) for name, kind in kinds.items()),
    )
    for name, kind in kinds.items():
        lines += [f"## {name}", "", inspect.getdoc(kind) or "", "", f"**What to do.** {advice(name)}", ""]
        lines += [f"- {code(cell_free(each.message))} ({each.where})" for each in found[name]]
        lines += [""]
    lines += ["## Over HTTP", "", "Errors of the service are problem documents (RFC 9457) with `type`, `title`, "]
    lines[-1] += "`status`, `detail`, `instance` and, field by field, `errors`. `title` is one of these:"
    lines += ["", *table(("status", "title", "what to do"), _statuses())]
    lines += ["Their details, word for word, besides the messages of `InvalidInput` (422), `UnknownName` (404), "]
    lines[-1] += "`StoreReadOnly` (403) and the other errors above (503):"
    lines += ["", *(f"- {code(cell_free(each.message))} ({each.where})" for each in found[PROBLEM]), ""]
    return page(lines)


def cell_free(message: str) -> str:
    """Return a message on one line."""
    return cell(message).replace("\\|", "|")


def _statuses() -> Iterator[tuple[str, str, str]]:
    for status, title in TITLES.items():
        yield str(status), title, _STATUS_ADVICE[status]


def error_classes() -> dict[str, type[Exception]]:
    """Return the error classes of `weft.errors` in the order of their tree."""
    return {
        name: kind
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, errors.WeftError) and kind is not errors.WeftError
    }


def advice(name: str) -> str:
    """Return what to do about an error."""
    return _ADVICE[name]


def _exit_code(kind: type[Exception]) -> str:
    return "4" if issubclass(kind, errors.StoreError) else "2"


@cache
def raised() -> tuple[Raised, ...]:
    """Return the messages in the source of the package, each once, in their order."""
    return tuple(sorted(set(_read_messages())))


def _read_messages() -> Iterator[Raised]:
    package = Path(weft.__file__).parent
    names = {*error_classes(), PROBLEM}
    for path in sorted(package.rglob("*.py")):
        where = (
            path.relative_to(package.parent).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")
        )
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if (
                isinstance(node, ast.Raise)
                and isinstance(node.exc, ast.Call)
                and isinstance(node.exc.func, ast.Name)
            ):
                name = node.exc.func.id
                if name in names and (message := _message(name, node.exc.args)):
                    yield Raised(name, message, where)


def _message(name: str, arguments: list[ast.expr]) -> str:
    texts = [_text(each) for each in arguments]
    if name == "UnknownName" and len(texts) >= 2:
        hint = f" {texts[3]}" if len(texts) > 3 else ""
        return f"Unknown {texts[0]} {texts[1]}. Did you mean {{nearest}}? Valid: {{allowed}}.{hint}"
    if name == "MissingExtra" and len(texts) == 2:
        return f"{texts[0]} needs an optional dependency. Install it with: pip install 'weft-context[{texts[1]}]'"
    if name == PROBLEM:
        return " ".join(texts[:2]) if not texts[1].startswith("{error") else ""
    if name == "MissingPackage" and len(texts) >= 2:
        return f"{texts[0]} needs another package. Install it with: pip install {' '.join(texts[1:])}"
    return texts[0] if texts and not texts[0].startswith("{") else ""


def _text(expression: ast.expr) -> str:
    """Return a text of the source with its placeholders in braces; any other expression in braces."""
    if isinstance(expression, ast.Constant):
        return str(expression.value)
    if isinstance(expression, ast.JoinedStr):
        return "".join(_text(each) for each in expression.values)
    if isinstance(expression, ast.FormattedValue):
        return "{" + _placeholder(expression.value) + "}"
    if isinstance(expression, ast.BinOp) and isinstance(expression.op, ast.Add):
        return _text(expression.left) + _text(expression.right)
    return "{" + _placeholder(expression) + "}"


def _placeholder(expression: ast.expr) -> str:
    """Return the last name of an expression, which says what will stand there."""
    if isinstance(expression, ast.Attribute):
        return expression.attr
    if isinstance(expression, ast.Name):
        return expression.id.strip("_").lower()
    if isinstance(expression, ast.Call) and expression.args:
        return _placeholder(expression.args[-1])
    names = [node.id for node in ast.walk(expression) if isinstance(node, ast.Name)]
    return names[-1].strip("_").lower() if names else "…"
