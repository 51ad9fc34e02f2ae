"""The store behind the server: opened at the first call, and anew when its files are others."""

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from weft.errors import StoreError
from weft.model import DEFAULT_TENANT

if TYPE_CHECKING:
    from weft.faces.library import Weft
    from weft.faces.wiring import Surroundings


@dataclass(frozen=True, slots=True)
class Settings:
    """What the server was started with."""

    store: Path | None = None
    embedder: str | None = None
    profile: str | None = None
    tenants: tuple[str, ...] = (DEFAULT_TENANT,)
    most_tokens: int = 25_000
    write: bool = False
    structured: bool = False

    @property
    def room(self) -> int:
        """The largest text of a result: a little under the limit, because clients count with other tokenizers."""
        return max(1, int(self.most_tokens * 0.96))


class Shelf:
    """Gives every call the store that is meant at that moment; nothing is opened before the first one."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._weft: Weft | None = None
        self._stamp: object = None
        self._guard = threading.Lock()

    def weft(self) -> "Weft":
        """The open store."""
        from weft.faces import wiring

        with self._guard:
            around = wiring.surroundings()
            folder = wiring.find_store(self.settings.store, around)
            stamp = _stamp(folder, wiring.profile_folders(folder, around))
            if self._weft is None or stamp != self._stamp:
                # Calls that still use the one opened before finish with it; it closes when they let go of it.
                self._weft = wiring.open_weft(folder, embedder=self.settings.embedder, around=around)
                self._stamp = stamp
            return self._weft

    def folders(self) -> tuple[Path, ...]:
        """Where the user's profiles and lenses are, also before there is a store."""
        from weft.faces import wiring

        around: Surroundings = wiring.surroundings()
        try:
            return wiring.profile_folders(wiring.find_store(self.settings.store, around), around)
        except StoreError:
            return wiring.profile_folders(None, around)

    def close(self) -> None:
        """Let go of the store."""
        with self._guard:
            if self._weft is not None:
                self._weft.close()
                self._weft = None


def _stamp(folder: Path, profiles: tuple[Path, ...]) -> object:
    """What tells a store and its profiles from others: a new file, or a profile that was edited."""
    file = folder / "weft.sqlite"
    mine = (str(file), file.stat().st_ino) if file.is_file() else (str(file), 0)
    edited = [
        (str(path), path.stat().st_mtime_ns, path.stat().st_size)
        for place in profiles
        for path in sorted(place.glob("*.toml"))
        if path.is_file()
    ]
    return mine, tuple(edited)
