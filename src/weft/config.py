"""Find the store, the embedder and the profiles: the only module that reads the environment and settings."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from weft.errors import InvalidInput, StoreError

if TYPE_CHECKING:
    from weft.api import Weft


STORE_NAME: Final = ".weft"
"""The folder of a store in the folder that it is about."""
DEFAULT_EMBEDDER: Final = "static"
"""The model that ships with Weft: it needs no download and no server."""
_SERVERS: Final = ("postgresql://", "postgres://")
"""The beginnings of the address of a store on a server."""
_SETTINGS_VARIABLE: Final = "WEFT_SERVED"
"""The variable in which a service passes its settings on to its workers."""


class Environment(Struct, frozen=True):
    """The environment of a program; every command decides from this and its own options alone."""

    working: Path
    store: str = ""
    index: str = ""
    embedder: str = ""
    api_key: str = ""
    tana_token: str = ""
    user_data: Path = Path()
    user_config: Path = Path()


class ModelEndpoint(Struct, frozen=True):
    """The language model that answers questions: its server, its name there, and the key of that server."""

    url: str = ""
    model: str = ""
    key: str = ""


def read_model_endpoint(url: str | None = None, model: str | None = None) -> ModelEndpoint:
    """Return the model to ask: as given, or from WEFT_ASK_URL, WEFT_ASK_MODEL and WEFT_ASK_KEY.

    The key is read from the environment only, because command lines are seen by other users.
    """
    return ModelEndpoint(
        url=url or os.environ.get("WEFT_ASK_URL", ""),
        model=model or os.environ.get("WEFT_ASK_MODEL", ""),
        key=os.environ.get("WEFT_ASK_KEY", "").strip(),
    )


def read_environment() -> Environment:
    """Read the environment of this process."""
    # Imported here: programs that open a store in a folder never need it.
    from platformdirs import user_config_path, user_data_path

    return Environment(
        working=Path.cwd(),
        store=os.environ.get("WEFT_STORE", ""),
        index=os.environ.get("WEFT_INDEX", ""),
        embedder=os.environ.get("WEFT_EMBEDDER", ""),
        api_key=os.environ.get("WEFT_API_KEY", ""),
        # Tokens are pasted, often with a line break.
        tana_token=os.environ.get("WEFT_TANA_TOKEN", "").strip(),
        user_data=user_data_path("weft", appauthor=False),
        user_config=user_config_path("weft", appauthor=False),
    )


def active_environment() -> str:
    """Return the folder of the Python environment that is active, or nothing."""
    return os.environ.get("VIRTUAL_ENV", "")


def find_client_folders() -> "ClientFolders":
    """Return the folders in which MCP clients keep their configuration."""
    from platformdirs import user_config_path

    return ClientFolders(
        working=Path.cwd(),
        user=Path.home(),
        desktop=user_config_path("Claude", appauthor=False, roaming=True),
        code=user_config_path("Code", appauthor=False, roaming=True) / "User",
    )


def find_store(given: str | Path | None, around: Environment) -> Path:
    """Return the folder of the store to read: as given, from WEFT_STORE, the nearest `.weft/`, or the user's own.

    A store on a server has a folder here too, for its keys, its profiles and its kept contexts.
    """
    server = server_url(given, around)
    if server:
        return server_folder(server, around)
    # From the most explicit to the least: named, then the nearest above here, then the user's own.
    named = _named(given, around)
    if named is not None:
        return named
    nearest = next((folder for folder in _stores_above(around.working) if _is_folder(folder)), None)
    if nearest is not None:
        return nearest
    if _is_folder(around.user_data):
        return around.user_data
    raise StoreError(
        f"No store was found: there is no {STORE_NAME}/ in {around.working} or above it, and none in "
        f"{around.user_data}. Make one with `weft index PATH`, or name one with --store DIR or WEFT_STORE."
    )


def find_store_near(given: str | None) -> Path | None:
    """Return the folder of the store that is named, or nearest above the working folder; None where there is none.

    Unlike `find_store` it does not look for the user's own, which takes longer than a hook has.
    """
    named = given or os.environ.get("WEFT_STORE", "")
    if named.startswith(_SERVERS):
        return server_folder(named, read_environment())
    if named:
        return Path(named).expanduser()
    return next((folder for folder in _stores_above(Path.cwd()) if _is_folder(folder)), None)


def runtime_folder() -> Path:
    """Return the folder for sockets of this user's programs; whoever uses it checks whose it is."""
    given = os.environ.get("XDG_RUNTIME_DIR", "")
    # Where the system names no such folder, the one every Unix has: `tempfile` takes a hook too long to load.
    return Path(given) / "weft" if given else Path(f"/tmp/weft-{os.getuid()}")


def server_url(given: str | Path | None, around: Environment) -> str:
    """Return the URL of the server that holds the store, or nothing when the store is in a folder."""
    named = str(given) if given is not None else around.store
    return named if named.startswith(_SERVERS) else ""


def server_folder(server: str, around: Environment) -> Path:
    """Return the folder on this machine of a store on a server; the same whatever password is used."""
    from hashlib import sha256

    from weft.store.open import read_addresses

    # The displayed address has no password, so that changing it keeps the folder with its keys. The first shard
    # stands for a cluster, which keeps its folder when shards are added.
    name = sha256(read_addresses(server)[0].display.encode()).hexdigest()[:16]
    return around.user_data / "servers" / name


def local_folder(location: str | Path) -> Path:
    """Return the folder of a store on this machine: the store itself, or the folder of one on a server."""
    if str(location).startswith(_SERVERS):
        return server_folder(str(location), read_environment())
    return Path(location)


def environment_without_index() -> Environment:
    """Read the environment without its choice of an index, for a store that is only read through."""
    return replace(read_environment(), index="")


def set_index(spec: str) -> None:
    """Let this process and those it starts search with this index."""
    os.environ["WEFT_INDEX"] = spec


def find_store_to_write(given: str | Path | None, around: Environment) -> Path:
    """Return the folder of the store to write to: the one that is found, else a new `.weft/` here."""
    try:
        return find_store(given, around)
    # Only writing may make a store: a question in the wrong folder should say so.
    except StoreError:
        return around.working / STORE_NAME


def profile_folders(store: Path | None, around: Environment) -> tuple[Path, ...]:
    """Return the folders with the user's profiles and lenses: beside the store, then in their configuration."""
    folders = ([store / "profiles"] if store is not None else []) + [around.user_config / "profiles"]
    return tuple(folder for folder in folders if _is_folder(folder) and os.access(folder, os.R_OK | os.X_OK))


def find_profile_folders(given: str | Path | None) -> tuple[Path, ...]:
    """Return the folders with the user's profiles and lenses, also where there is no store yet."""
    around = read_environment()
    try:
        store = find_store(given, around)
    except StoreError:
        return profile_folders(None, around)
    return profile_folders(store, around)


def open_weft(
    given: str | Path | None,
    *,
    embedder: str | None = None,
    create: bool = False,
    read_only: bool = False,
    around: Environment | None = None,
) -> "Weft":
    """Open the store that the options and the environment name, with their embedder and profiles."""
    from weft.api import Weft

    around = around or read_environment()
    store = find_store_to_write(given, around) if create else find_store(given, around)
    server = server_url(given, around)
    if server:
        # Keys and kept contexts of a store on a server need a folder here, also if only questions are asked.
        store.mkdir(parents=True, exist_ok=True)
    try:
        return Weft.open(
            server or store,
            embedder=choose_embedder(embedder, around),
            api_key=around.api_key or None,
            profiles=profile_folders(store, around),
            create=create,
            read_only=read_only,
            index=around.index,
            folder=store,
            working=around.working,
        )
    except PermissionError as error:
        raise StoreError(
            f"{store} may not be read ({error.strerror}). Change its permissions, or name another with --store."
        ) from error


class ServeSettings(Struct, frozen=True):
    """The settings with which a service process opens its store."""

    store: Path
    embedder: str = ""
    read_only: bool = False
    metrics_folder: str = ""
    """The folder in which several processes add up their metrics; empty where there is one process."""
    server: str = ""
    """The URL of the server that holds the store, whose folder here is `store`."""
    tls_cert: str = ""
    tls_key: str = ""
    """The PEM files of the certificate and its key; empty where a proxy does TLS, or nobody."""
    proxies: tuple[str, ...] = ()
    """The addresses or ranges of the proxies whose forwarded headers are believed."""
    hosts: tuple[str, ...] = ()
    """The names under which the service may be asked; none is any, as long as a key is presented."""
    answer_seconds: float = 30.0
    """Seconds that an answer may take, waiting included."""
    access_log: str = ""
    """The file of the access log, `-` for stderr, or nothing for none."""
    workers: int = 1
    explorer_writes: bool = False
    """Whether the explorer may change the store."""


def processors() -> int:
    """Return how many processors this process may use."""
    # In a container, the processors of the machine are not all ours.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def pass_to_workers(settings: ServeSettings) -> None:
    """Leave the settings where worker processes and their Prometheus library find them."""
    # Workers are started by the web server, which passes on nothing but the environment.
    os.environ[_SETTINGS_VARIABLE] = msgspec.json.encode(settings, enc_hook=str).decode()
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = settings.metrics_folder


def settings_from_parent() -> ServeSettings:
    """Return the settings that the parent process left."""
    return msgspec.json.decode(
        os.environ[_SETTINGS_VARIABLE], type=ServeSettings, dec_hook=lambda kind, value: kind(value)
    )


def limit_library_threads() -> None:
    """Keep numerical libraries from starting threads, which a process that lives for a moment does not need."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def choose_embedder(given: str | None, around: Environment) -> str:
    """Return the embedder as given, from WEFT_EMBEDDER, or the static model that ships with Weft."""
    return given or around.embedder or DEFAULT_EMBEDDER


def _named(given: str | Path | None, around: Environment) -> Path | None:
    named = str(given) if given is not None else around.store
    if not named:
        return None
    # The system would raise a ValueError that names neither the value nor a remedy.
    if "\0" in named:
        raise InvalidInput(f"{named!r} cannot name a folder. Give the path of a store, such as {STORE_NAME}.")
    return Path(named).expanduser()


def _is_folder(path: Path) -> bool:
    """Return whether a folder is there; a folder inside one that may not be read counts as missing."""
    try:
        return path.is_dir()
    except OSError:
        return False


def _stores_above(folder: Path) -> list[Path]:
    """Return where a store could be: in the folder, and in each that holds it, the nearest first."""
    return [parent / STORE_NAME for parent in (folder, *folder.parents)]


class ClientFolders(Struct, frozen=True):
    """The folders in which clients keep their configuration."""

    working: Path
    user: Path
    desktop: Path
    code: Path
