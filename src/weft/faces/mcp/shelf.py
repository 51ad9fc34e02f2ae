"""The store behind the server: opened at the first call, and anew when its files are others."""

import threading
from pathlib import Path
from typing import TYPE_CHECKING

from weft.errors import StoreError
from weft.faces.mcp.settings import Settings

if TYPE_CHECKING:
    from weft.faces.library import Weft
    from weft.faces.wiring import Surroundings


class Shelf:
    """Gives every call the store that is meant at that moment; nothing is opened before the first one."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._weft: Weft | None = None
        self._stamp: object = None
        self._guard = threading.Lock()

    @property
    def tenants(self) -> tuple[str, ...]:
        """Whose knowledge is read."""
        from weft.faces.values import tenants_of

        return tenants_of(self.settings.tenants)

    def weft(self, *, create: bool = False) -> "Weft":
        """The open store; one that is to be written to is made where there is none."""
        from weft.faces import wiring

        with self._guard:
            around = wiring.surroundings()
            find = wiring.place_store if create else wiring.find_store
            folder = find(self.settings.store, around)
            stamp = _stamp(folder, wiring.profile_folders(folder, around))
            if self._weft is None or stamp != self._stamp:
                # Calls that still use the one opened before finish with it; it closes when they let go of it.
                given = wiring.server_of(self.settings.store, around) or folder
                self._weft = wiring.open_weft(given, embedder=self.settings.embedder, around=around, create=create)
                self._stamp = _stamp(folder, wiring.profile_folders(folder, around))
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
    """What tells a store from others: its file, and where profiles are kept."""
    file = folder / "weft.sqlite"
    return str(file), file.stat().st_ino if file.is_file() else 0, profiles
