"""An open store: its files, its profiles, and how it is read."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from weft.cache import Recent
from weft.embed import open_embedder
from weft.errors import EmbedderMismatch, InvalidInput, UnknownName
from weft.history import History
from weft.model import CONSISTENCIES, View
from weft.pipeline.reading import Desk
from weft.ports import Embedder, Index, Snapshot, Store, StoreStatus
from weft.profiles import load_lenses, load_profile, profiles_version, with_lenses
from weft.profiles.types import Profile
from weft.store import Opened, is_address, open_pair
from weft.tokens import DEFAULT_ENCODING, counter_for

if TYPE_CHECKING:
    from weft.indexing.views import Views


_PROFILES: Final = 32
_LAST: Final = 2**53 - 1
_ANEW: Final = (
    "The store was embedded anew: meaning is left out until this program is started with the new embedder."
)
_WRONG: Final = "Open the store with the embedder it was made with, or index again into a new store to change it."


class OpenStore:
    """A store with what is derived from it, the embedder, and the contexts kept beside it."""

    def __init__(
        self,
        opened: Opened,
        embed: Embedder | None,
        folders: Sequence[Path],
        contexts: History,
    ) -> None:
        self.store = opened.store
        self.folder = opened.folder
        self.contexts = contexts
        self._index = opened.index
        self._embed = embed
        self._matched = False
        self.folders = tuple(folders)
        self._views: Views | None = None
        self._profiles = Recent[object, Profile](_PROFILES)

    @classmethod
    def open(
        cls,
        path: str | Path = ".weft",
        *,
        embedder: str | None = "static",
        api_key: str | None = None,
        profiles: Sequence[str | Path] = (),
        create: bool = True,
        read_only: bool = False,
        index: str = "",
        folder: str | Path | None = None,
    ) -> Self:
        """A Weft over the store in the folder `path` or at a `postgresql://` URL, made if it is not there.

        `embedder` None goes without. A store on a server is searched there unless `index` names another way; what
        belongs to it on this machine (keys, profiles, kept contexts) is in `folder`.
        """
        place = _own_folder(path) if folder is None else Path(folder)
        opened = open_pair(path, place, index=index, create=create, read_only=read_only)
        embed = None if embedder is None else open_embedder(embedder, api_key=api_key)
        weft = cls(opened, embed, [*map(Path, profiles), place / "profiles"], History(place))
        if embed is not None and is_address(str(path)):
            # Who serves a store may be asked for the first time after others have embedded it anew.
            with weft.store.everything() as snapshot:
                weft._matched = snapshot.embedder() == (embed.name, embed.dimensions)
        return weft

    @property
    def location(self) -> str:
        """Where the store is, as people may see it."""
        return self.store.location

    def profile(self, name: str) -> Profile:
        """A profile by name from the given folders, the store's own or the built-in ones, with users' lenses."""
        key = (name, profiles_version(self.folders, name))
        known = self._profiles.get(key)
        if known is not None:
            return known
        lenses = [lens for folder in reversed(self.folders) for lens in load_lenses(folder)]
        return self._profiles.put(key, with_lenses(load_profile(name, self.folders), lenses))

    @contextmanager
    def desk(self, view: View) -> Iterator[Desk]:
        """One pinned reading of the store with its index and embedder."""
        if view.consistency and view.consistency not in CONSISTENCIES:
            raise UnknownName("consistency", view.consistency, CONSISTENCIES)
        if view.as_of is not None and not 0 <= view.as_of <= _LAST:
            raise InvalidInput(
                f"A story has no point {view.as_of}. Give the number of a chapter, such as 3; a prologue is 0."
            )
        with self._seen(view) as (store, index, seen), store.snapshot(seen) as snapshot:
            yield Desk(snapshot, index, *self._usable_embedder(snapshot))

    @contextmanager
    def _seen(self, view: View) -> Iterator[tuple[Store, Index, View]]:
        """What a view is read from: as of a point of a story, a store that is made of nothing later."""
        views = self._story_views(view)
        if views is None:
            yield self.store, self._index, view
            return
        with views.at(view) as (store, index):
            yield store, index, View(view.tenants)

    def _story_views(self, view: View) -> "Views | None":
        # Those who ask for everything do not pay for loading what makes views.
        if view.as_of is None:
            return None
        from weft.indexing.stories import tells_stories

        if self._views is None and tells_stories(self.store, view.tenants):
            from weft.indexing.views import Views

            count, _ = counter_for(DEFAULT_ENCODING)
            self._views = Views(self.store, self.folder / "derived" / "views", self._embed, count)
        return self._views if self._views is not None and tells_stories(self.store, view.tenants) else None

    def _usable_embedder(self, snapshot: Snapshot) -> tuple[Embedder | None, tuple[str, ...]]:
        """The embedder that made the store's vectors, if it is ours.

        A wrong one is refused. Where it was the right one until the store was embedded anew, questions go on by
        words and links, with a note: a service answers until it is started with the new one.
        """
        made_by = snapshot.embedder()
        if self._embed is None or made_by is None:
            return None, ()
        if made_by == (self._embed.name, self._embed.dimensions):
            self._matched = True
            return self._embed, ()
        told = (
            f"The store's vectors were made by {made_by[0]!r} ({made_by[1]} dimensions), but "
            f"{self._embed.name!r} ({self._embed.dimensions}) is in use."
        )
        if self._matched:
            return None, (f"{told} {_ANEW}",)
        raise EmbedderMismatch(f"{told} {_WRONG}")

    def status(self, tenants: Sequence[str] | None = None) -> StoreStatus:
        """Counts and versions."""
        return self.store.status(None if tenants is None else View(tuple(tenants)))

    def engine(self) -> Mapping[str, str | int]:
        """What holds the store, with its versions."""
        return self.store.engine()

    def index_status(self) -> Mapping[str, str | int]:
        """How far the derived search has come, and its size."""
        return self._index.status()

    def holds(self, tenant: str) -> bool:
        """Whether a tenant has anything to search."""
        with self.store.snapshot(View((tenant,))) as snapshot:
            return snapshot.statistics([]).passages > 0

    def verify(self) -> tuple[str, ...]:
        """What is inconsistent in the store, in words; nothing when it is sound."""
        return self.store.verify()

    def close(self) -> None:
        """Let go of the store's files."""
        self.contexts.close()
        if self._views is not None:
            self._views.close()
        self._index.close()
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _own_folder(path: str | Path) -> Path:
    """The folder of an embedded store is the store; one on a server has its folder among the user's data."""
    if not is_address(str(path)):
        return Path(path)
    from weft.config import server_folder, surroundings

    return server_folder(str(path), surroundings())
