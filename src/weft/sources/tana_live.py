"""A running Tana as a source: read whole the first time, then only what was edited since."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Final

from weft.errors import SourceError
from weft.frozen import dataclass
from weft.ports import Problem, Unit
from weft.sources.files import Naming
from weft.sources.tana_api import SEARCH_LIMIT, TanaApi, Unreachable, is_missing
from weft.sources.tana_crawl import Crawl, moment_of, roots_of, seen_as

_SYNC: Final = "#sync"
"""The unit that remembers Tana's clock at the last reading; no node has this id."""


@dataclass(slots=True)
class TanaLive:
    """The notes of a Tana Desktop that is running here; when it is not, the stored copy stays as it is."""

    name: str
    maker: str
    naming: Naming
    api: TanaApi
    full: bool = False
    _known: dict[str, str] = field(default_factory=dict)
    _units: dict[str, Unit] = field(default_factory=dict)

    def identity(self) -> str:
        """The address, by which two sources of the same name are told apart."""
        return f"tana://{self.api.place}"

    def resume(self, known: Mapping[str, str]) -> None:
        """Go on from the units that are stored, by name and stamp; an empty stamp says that it must be read."""
        self._known = dict(known)

    def units(self) -> Iterable[tuple[str, str]]:
        """The (name, stamp) of every node there is now; of those not edited, as they are stored."""
        self._units.clear()
        try:
            stamps = self._read_in()
        except Unreachable as error:
            return self._as_stored(error)
        return list(stamps.items())

    def read(self, unit: str) -> Unit:
        """One node that was read in; any other stays as it is stored."""
        return self._units.get(unit, Unit(unit, ""))

    def _as_stored(self, error: Unreachable) -> list[tuple[str, str]]:
        last = self._known.get(_SYNC)
        if last is None:
            raise SourceError(
                f"Tana does not answer at {self.api.place}: {error}. Start Tana Desktop and turn on "
                "Settings > Local API, or index an export of the workspace."
            ) from error
        stored = f"The stored copy of {last}" if last else "The stored copy"
        reason = f"Tana does not answer: {error}. {stored} is used, which may be stale."
        self._units[_SYNC] = Unit(_SYNC, "", problems=(Problem(self.identity(), reason),))
        return [*((name, stamp) for name, stamp in self._known.items() if name != _SYNC), (_SYNC, "unreachable")]

    def _read_in(self) -> dict[str, str]:
        now = self.api.health()
        known = {name: stamp for name, stamp in self._known.items() if name != _SYNC}
        spaces = self.api.workspaces()
        edited = None if self.full or "" in self._known.values() else self._edited(self._known.get(_SYNC))
        if edited is None:
            known = {}
            roots = [root for space in spaces for root in roots_of(space)]
        else:
            again = {each["id"] for each in edited} | self._trashed(edited, known)
            known = {name: stamp for name, stamp in known.items() if name not in again}
            roots = [replace(seen_as(each), modified=moment_of(now)) for each in edited if not each.get("inTrash")]
        crawl = Crawl(self.api, self.naming, known.keys())
        crawl.follow([root for root in roots if not root.is_tag])
        crawl.take_tags([tag for space in spaces for tag in self.api.tags(str(space["id"]))])
        self._units.update(crawl.units)
        self._units[_SYNC] = Unit(_SYNC, now, problems=tuple(crawl.problems))
        return {**known, **{name: unit.stamp for name, unit in crawl.units.items()}, _SYNC: now}

    def _trashed(self, edited: Sequence[Mapping[str, Any]], known: Mapping[str, str]) -> set[str]:
        """What went to the trash below nodes that were put there: it was not edited itself."""
        gone: set[str] = set()
        level = [str(each["id"]) for each in edited if each.get("inTrash")]
        while level:
            below = {str(each.get("id")) for name in level for each in self._children(name)}
            level = sorted(name for name in below if name in known and name not in gone)
            gone.update(level)
        return gone

    def _children(self, name: str) -> list[Mapping[str, Any]]:
        try:
            return list(self.api.children(name))
        except Unreachable as error:
            if is_missing(error):
                return []
            raise

    def _edited(self, since: str | None) -> list[Mapping[str, Any]] | None:
        """What was edited since the last reading; None when all must be read, for there is too much to list."""
        moment = moment_of(since) if since else None
        if moment is None:
            return None
        found = self.api.edited_since(int(moment.timestamp() * 1000))
        return None if len(found) >= SEARCH_LIMIT else found
