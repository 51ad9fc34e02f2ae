"""`weft doctor`: check the store and the installation, and say what to do about each problem."""

import os
import re
import shutil
import sqlite3
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer
from msgspec import Struct

from weft import __version__, config
from weft.errors import WeftError
from weft.interfaces.cli import STORE_PROBLEM, AsJson, EmbedderSpec, StoreFolder, output
from weft.interfaces.cli.output import show_progress
from weft.interfaces.keys import FILE_NAME, MARKER_NAME

if TYPE_CHECKING:
    from weft.api import Weft
    from weft.ports import Embedder


_LIBRARIES: Final = ("numpy", "tantivy", "tiktoken")
"""Libraries with compiled parts, whose versions explain most reports about an installation."""


_COMMAND: Final = re.compile(r"`(weft [^`]+)`|(pip (?:un)?install [^\n)]+?)(?:[.;]? *$|[.;] |\))")
"""A command in the detail of a check."""
_REMEDIES: Final = {
    "store": "weft index PATH",
    "tokenizer": "pip install --force-reinstall weft-context",
    "vectors": "weft reembed",
    "integrity": "weft doctor --repair",
    "search index": "weft doctor --repair",
}
"""The command to type about each check whose detail names none."""


class Check(Struct, frozen=True):
    """The result of one check: `ok`, a `note` (works, but worth knowing) or a `problem`."""

    name: str
    state: Literal["ok", "note", "problem"]
    detail: str


def doctor(
    repair: Annotated[
        bool,
        typer.Option(
            "--repair", help="Rebuild what is derived; of a damaged file, save what can be read into a new store."
        ),
    ] = False,
    store: StoreFolder = None,
    embedder: EmbedderSpec = None,
    as_json: AsJson = False,
) -> None:
    """Check the store and the installation: search index, embedder, tokenizer, profiles."""
    with show_progress("checking"):
        checks = list(_run_checks(store, embedder, repair))
    if as_json:
        output.write_json({"checks": [output.as_dict(check) for check in checks]})
    else:
        for check in checks:
            output.write(f"{check.state:8}{check.name}: {check.detail}")
        output.write(f"\n{_advise(checks)}")
    if any(check.state == "problem" for check in checks):
        raise typer.Exit(STORE_PROBLEM)


def _advise(checks: Sequence[Check]) -> str:
    """Return what to type next: what the first problem or note names, or a question."""
    for state in ("problem", "note"):
        for check in checks:
            if check.state == state:
                named = _COMMAND.search(check.detail)
                command = (named[1] or named[2]) if named else _REMEDIES.get(check.name)
                if command:
                    return f"Type next, because of {check.name}: {command}"
    if any(check.state == "problem" for check in checks):
        return "Type next, after mending what is told above: weft doctor"
    return 'All is well. Type next: weft context "YOUR QUESTION"'


def _run_checks(store: str | None, spec: str | None, repair: bool) -> Iterator[Check]:
    around = config.read_environment()
    yield _check_versions()
    yield from _check_plugins()
    yield _check_tokenizer()
    model = _open_embedder(config.choose_embedder(spec, around), around.api_key)
    if isinstance(model, Check):
        yield model
    else:
        detail = "none, by choice" if model is None else f"{model.name}, {model.dimensions} dimensions"
        yield Check("embedder", "ok", detail)
    if repair and (saved := list(_save_damaged(store, around))):
        # Nothing else can be said about a file that cannot be read.
        yield from saved
        return
    try:
        # Without the embedder, which was checked above: a store can be examined when its embedder is missing.
        weft = config.open_weft(store, embedder="none", around=around)
    except WeftError as error:
        yield Check("store", "problem", str(error))
        return
    with weft:
        if repair:
            yield _repair(weft)
        yield from _check_store(weft, None if isinstance(model, Check) else model, repair)


def _save_damaged(store: str | None, around: config.Environment) -> Iterator[Check]:
    """Where the file of a store is damaged, save what can be read into a new store beside it."""
    if config.server_url(store, around):
        return
    from weft.store.sqlite.salvage import is_damaged, salvage

    try:
        folder = config.find_store(store, around)
        if not is_damaged(folder):
            return
        target = folder.with_name(f"{folder.name}.saved")
        saved = salvage(folder, target)
        # A store that had keys must not lose them on the way: it would be served to anybody on this machine.
        for name in (FILE_NAME, MARKER_NAME):
            if (folder / name).exists():
                shutil.copy2(folder / name, target / name)
        if (folder / "profiles").is_dir():
            shutil.copytree(folder / "profiles", target / "profiles", dirs_exist_ok=True)
    except WeftError as error:
        yield Check("repair", "problem", str(error))
        return
    shown = output.short_path(target)
    yield Check(
        "repair",
        "problem",
        f"the file is damaged, and was left as it is. {saved.describe()}. What could be read is in {shown}: check "
        f"it with `weft doctor --store {shown}`, index into it again, and put it in the damaged one's place.",
    )


def _check_versions() -> Check:
    from importlib.metadata import PackageNotFoundError, version

    versions = [f"weft {__version__}", f"Python {sys.version.split()[0]}", f"SQLite {sqlite3.sqlite_version}"]
    for library in _LIBRARIES:
        try:
            versions.append(f"{library} {version(library)}")
        except PackageNotFoundError:
            versions.append(f"{library} missing")
    return Check("versions", "ok", ", ".join(versions))


def _check_plugins() -> Iterator[Check]:
    """Yield what other packages add, and those of it that cannot be loaded; nothing where none is installed."""
    from weft.ports.plugins import GROUPS, PluginError, list_plugins

    installed = [plugin for group in GROUPS for plugin in list_plugins(group)]
    for plugin in installed:
        try:
            plugin.load()
        except PluginError as error:
            yield Check("plugins", "problem", str(error))
    if installed:
        names = [f"{plugin.name} of {plugin.package} ({plugin.group})" for plugin in installed]
        yield Check("plugins", "ok", ", ".join(names))


def _check_tokenizer() -> Check:
    from weft.tokens import DEFAULT_ENCODING, counter_for

    try:
        counter, note = counter_for(DEFAULT_ENCODING)
    except WeftError as error:
        return Check("tokenizer", "problem", str(error))
    # A damaged vocabulary still counts, but wrongly.
    is_exact = counter.count("hello world") == 2
    detail = note or (
        f"{counter.name} counts exactly" if is_exact else f"{counter.name} miscounts; install Weft again"
    )
    return Check("tokenizer", "ok" if is_exact and note is None else "problem", detail)


def _open_embedder(spec: str, api_key: str) -> "Embedder | Check | None":
    """Open the embedder that is configured; None if there is to be none, a check if it cannot be opened."""
    from weft.embed import open_embedder

    try:
        return open_embedder(spec, api_key=api_key or None)
    except WeftError as error:
        # Without vectors Weft still answers, so a missing embedder is no problem of the store.
        return Check("embedder", "note", f"{error} Until then pages come from words and links alone.")


def _repair(weft: "Weft") -> Check:
    try:
        weft.repair()
    except WeftError as error:
        return Check("repair", "problem", str(error))
    return Check("repair", "ok", "statistics, neighbour lists, names and the search index were rebuilt")


def _advice(damage: Sequence[str], is_repaired: bool) -> str:
    """Return what to do about damage; never what was just done."""
    if is_repaired:
        return "Restore a backup with `weft restore`."
    if any(each.startswith("file:") for each in damage):
        return "Restore a backup with `weft restore`, or save what can be read with `weft doctor --repair`."
    return "`weft doctor --repair` derives it anew."


def _check_store(weft: "Weft", model: "Embedder | None", is_repaired: bool) -> Iterator[Check]:
    try:
        status = weft.status()
        yield Check(
            "store",
            "ok",
            f"{status.location}, schema {status.schema_version}, {output.count_noun(status.nodes, 'node')}",
        )
        yield from _check_server(weft.engine())
        damage = weft.verify()
        if damage:
            yield Check("integrity", "problem", f"{'; '.join(damage)}. {_advice(damage, is_repaired)}")
        else:
            yield Check("integrity", "ok", "the stored data is consistent")
        yield _check_search_index(weft, status.sequence)
        yield _check_vectors(status.embedder, model)
    except WeftError as error:
        yield Check("store", "problem", str(error))
    # The location of a store on a server is its URL; only an embedded store is the folder itself.
    if weft.location == str(weft.folder):
        yield _check_folder(weft.folder)
    yield from _check_profiles(weft)


def _check_server(engine: Mapping[str, str | int]) -> Iterator[Check]:
    """Check the server of a store; an embedded store has no users whose rights could be too wide."""
    if "row_security" not in engine:
        return
    yield Check("server", "ok", output.engine_versions(engine))
    if engine["row_security"] == "off":
        yield Check(
            "tenants",
            "note",
            "kept apart by every query, but not by row-level security, because this user bypasses it. Connect as "
            "a user who is no superuser to have both.",
        )


def _check_search_index(weft: "Weft", sequence: int) -> Check:
    index = weft.index_status()
    reached = min(int(index["lexical_sequence"]), int(index["vector_sequence"]))
    if reached >= sequence:
        return Check("search index", "ok", "up to date")
    return Check(
        "search index",
        "note",
        f"at write {reached} of {sequence}; until it catches up the rest is read from the store itself. "
        "`weft doctor --repair` rebuilds it.",
    )


def _check_vectors(stored_model: str | None, model: "Embedder | None") -> Check:
    if stored_model is None:
        return Check("vectors", "note", "the store has none: pages come from words and links alone")
    if model is not None and model.name != stored_model:
        return Check(
            "vectors",
            "problem",
            f"made by {stored_model!r}, but {model.name!r} is in use, so pages come from words and links alone. "
            "Name the embedder that made them with --embedder, or change them with `weft reembed`.",
        )
    return Check("vectors", "ok", f"made by {stored_model!r}")


def _check_folder(folder: Path) -> Check:
    if os.access(folder, os.W_OK):
        return Check("disk", "ok", f"{folder} is writable")
    return Check("disk", "note", f"{folder} can only be read: questions are answered, but nothing can be indexed")


def _check_profiles(weft: "Weft") -> Iterator[Check]:
    """Yield a problem for each of the user's profiles that cannot be loaded."""
    from weft.profiles import available_profiles

    for name in available_profiles(weft.folders):
        try:
            weft.profile(name)
        except WeftError as error:
            yield Check(f"profile {name}", "problem", str(error))
