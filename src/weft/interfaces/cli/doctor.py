"""`weft doctor`: what is wrong with the store or this installation, in words, and what to do about it."""

import os
import sqlite3
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from weft import __version__, config
from weft.errors import WeftError
from weft.frozen import dataclass
from weft.interfaces.cli import STORE_PROBLEM, output
from weft.interfaces.cli.options import AsJson, EmbedderSpec, StoreFolder
from weft.interfaces.cli.progress import watched

if TYPE_CHECKING:
    from weft.api import Weft
    from weft.ports import Embedder


_PARTS: Final = ("numpy", "tantivy", "tiktoken")


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at: `ok`, worth a `note`, or a `problem`."""

    name: str
    state: Literal["ok", "note", "problem"]
    detail: str


def doctor(
    repair: Annotated[bool, typer.Option("--repair", help="Derive anew whatever is derived, then check.")] = False,
    store: StoreFolder = None,
    embedder: EmbedderSpec = None,
    as_json: AsJson = False,
) -> None:
    """Check the store, its search index, the embedder, the tokenizer and the installation."""
    with watched("examining"):
        checks = list(_examine(store, embedder, repair))
    if as_json:
        output.write_json({"checks": [output.shape(check) for check in checks]})
    else:
        for check in checks:
            output.write(f"{check.state:8}{check.name}: {check.detail}")
    if any(check.state == "problem" for check in checks):
        raise typer.Exit(STORE_PROBLEM)


def _examine(given: str | None, spec: str | None, repair: bool) -> Iterator[Check]:
    around = config.surroundings()
    yield Check("versions", "ok", _versions())
    yield _tokenizer()
    model = _embedder(config.embedder_spec(spec, around), around.api_key)
    yield model if isinstance(model, Check) else Check("embedder", "ok", _described(model))
    try:
        weft = config.open_weft(given, embedder="none", around=around)
    except WeftError as error:
        yield Check("store", "problem", str(error))
        return
    with weft:
        if repair:
            yield _repaired(weft)
        yield from _stored(weft, None if isinstance(model, Check) else model)


def _versions() -> str:
    own = (f"weft {__version__}", f"Python {sys.version.split()[0]}", f"SQLite {sqlite3.sqlite_version}")
    return ", ".join([*own, *(f"{part} {_installed(part)}" for part in _PARTS)])


def _installed(part: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(part)
    except PackageNotFoundError:
        return "missing"


def _tokenizer() -> Check:
    from weft.tokens import DEFAULT_ENCODING, counter_for

    try:
        counter, note = counter_for(DEFAULT_ENCODING)
    except WeftError as error:
        return Check("tokenizer", "problem", str(error))
    right = counter.count("hello world") == 2
    detail = note or (
        f"{counter.name} counts exactly" if right else f"{counter.name} miscounts; install Weft again"
    )
    return Check("tokenizer", "ok" if right and note is None else "problem", detail)


def _embedder(spec: str, api_key: str) -> "Embedder | Check | None":
    from weft.embed import open_embedder

    try:
        return open_embedder(spec, api_key=api_key or None)
    except WeftError as error:
        return Check("embedder", "note", f"{error} Until then pages come from words and links alone.")


def _described(model: "Embedder | None") -> str:
    return "none, by choice" if model is None else f"{model.name}, {model.dimensions} dimensions"


def _repaired(weft: "Weft") -> Check:
    try:
        weft.repair()
    except WeftError as error:
        return Check("repair", "problem", str(error))
    return Check("repair", "ok", "statistics, neighbour lists, names and the search index were derived anew")


def _stored(weft: "Weft", model: "Embedder | None") -> Iterator[Check]:
    try:
        status = weft.status()
        yield Check(
            "store",
            "ok",
            f"{status.location}, schema {status.schema_version}, {output.counted(status.nodes, 'node')}",
        )
        yield from _server(weft.engine())
        damage = weft.verify()
        sound = Check("integrity", "ok", "what is stored agrees with itself")
        yield (
            Check("integrity", "problem", f"{'; '.join(damage)}. Try `weft doctor --repair`.") if damage else sound
        )
        yield _lag(weft, status.sequence)
        yield _match(status.embedder, model)
    except WeftError as error:
        yield Check("store", "problem", str(error))
    if weft.location == str(weft.folder):
        yield _disk(weft.folder)
    yield from _profiles(weft)


def _server(engine: Mapping[str, str | int]) -> Iterator[Check]:
    """What is to be said of a store on a server: an embedded one has no tenants to keep apart by users."""
    if "row_security" not in engine:
        return
    yield Check("server", "ok", output.versions(engine))
    if engine["row_security"] == "off":
        yield Check(
            "tenants",
            "note",
            "kept apart by every query, but not by row-level security, which this user passes by. Connect as one "
            "that is no superuser to have both.",
        )


def _lag(weft: "Weft", sequence: int) -> Check:
    derived = weft.index_status()
    reached = min(int(derived["lexical_sequence"]), int(derived["vector_sequence"]))
    if reached >= sequence:
        return Check("search index", "ok", "up to date")
    return Check(
        "search index",
        "note",
        f"at write {reached} of {sequence}; until it catches up the rest is read from the store itself. "
        "`weft doctor --repair` rebuilds it.",
    )


def _match(made_by: str | None, model: "Embedder | None") -> Check:
    if made_by is None:
        return Check("vectors", "note", "the store has none: pages come from words and links alone")
    if model is not None and model.name != made_by:
        return Check(
            "vectors", "problem", f"made by {made_by!r}, but {model.name!r} is in use. Choose it with --embedder."
        )
    return Check("vectors", "ok", f"made by {made_by!r}")


def _disk(folder: Path) -> Check:
    if os.access(folder, os.W_OK):
        return Check("disk", "ok", f"{folder} takes writes")
    return Check("disk", "note", f"{folder} can only be read: questions are answered, but nothing can be indexed")


def _profiles(weft: "Weft") -> Iterator[Check]:
    from weft.profiles import available_profiles

    for name in available_profiles(weft.folders):
        try:
            weft.profile(name)
        except WeftError as error:
            yield Check(f"profile {name}", "problem", str(error))
