"""Read an open store: pinned snapshots, the embedder that fits it, profiles, and views as of a chapter."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from weft.embed import is_own_model, open_embedder
from weft.errors import InvalidInput, StoreCorrupt, StoreTimedOut, StoreUnreachable, UnknownName, WeftError
from weft.history import History
from weft.indexing.freshness import REFRESH_SECONDS, Upkeep, mark_snapshot
from weft.model import CONSISTENCIES, Context, Edge, Filter, Node, View
from weft.pipeline.query import Reading
from weft.pipeline.retrieve import RetrievalResult
from weft.ports import KNOWLEDGE_KINDS, NOTE_FORM, TANA_FORM, Embedder, Index, LayeredEmbedder, Snapshot, Store
from weft.profiles import load_profile, profile_files_state, usable_profiles, user_lenses, with_lenses
from weft.profiles.types import Profile
from weft.runtime.cache import LruCache, open_shared
from weft.store import OpenedStore, SqliteStore
from weft.store.sqlite.snapshot import SqliteSnapshot
from weft.text.terms import analyze
from weft.tokens import DEFAULT_ENCODING, counter_for

if TYPE_CHECKING:
    from weft.indexing.views import Views


DIRECTIONS: Final = ("in", "out")
# Profiles with the user's lenses are read from files once; a service rarely uses more than a few.
_PROFILES_KEPT: Final = 32
# The page that suits a store is counted once for each view of each state; a server has few at a time.
_PAGES_KEPT: Final = 32
# The largest number that SQLite, PostgreSQL and JSON all hold exactly.
_LAST_SEQUENCE: Final = 2**53 - 1
_REEMBEDDED: Final = (
    "The store was embedded anew: meaning is left out until this program is started with the new embedder."
)
"""The note of a service that goes on without meaning."""
_OUTDATED: Final = "Meaning is left out. Run `{command}` to give the store the vectors of this Weft."
"""The note where an earlier Weft made the vectors."""
_OTHER_EMBEDDER: Final = (
    "Meaning is left out. Ask with the embedder that the store was made with (--embedder), or change the store to "
    "this one with: {command}"
)
"""The note for an embedder that never fitted."""
_REEMBED: Final = "weft reembed"
_QUEUE_REEMBED: Final = "weft jobs add embed --embedder SPEC"
"""The command to type: a store on a server leaves the work to its queue."""


Answer = TypeVar("Answer")
Notable = TypeVar("Notable", Context, RetrievalResult)
GENERAL: Final = "general"
NOTES: Final = "notes"

_OTHER_KINDS: Final = (
    *("file", "module", "class", "interface", "type", "function", "method", "config", "commit"),
    *("document", "section", "requirement", "feature", "decision", "message", "session", "summary"),
    *("chapter", "scene", "memory", "experience", "value"),
    *KNOWLEDGE_KINDS,
)
"""The kinds of nodes that are no notes, whoever wrote them."""
_PLAIN_KINDS: Final = ("note",)
"""The kind of texts in Markdown, of which notes in a graph are some and pages of documentation others."""
_NOTES_FOR_ONE_OTHER: Final = 2
"""Notes for each other node that make a store a graph of notes: a vault holds a few scripts, a repository a few
notes."""
_FORMS: Final = (NOTE_FORM, TANA_FORM)


class LinkFilter(Struct, frozen=True):
    """The links that are wanted around a node: their types, `in` or `out`, and the kinds of the neighbours."""

    types: tuple[str, ...] = ()
    direction: str = ""
    kinds: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.direction not in ("", *DIRECTIONS):
            raise UnknownName("direction", self.direction, DIRECTIONS)

    def admits(self, node: Node) -> bool:
        """Return whether a neighbour is of a wanted kind."""
        return not self.kinds or node.kind in self.kinds


class Reader:
    """An open store with its search index, its embedder, its profiles and the contexts kept beside it."""

    def __init__(
        self,
        opened: OpenedStore,
        embedder: Embedder | None,
        folders: Sequence[Path],
        contexts: History,
        refresh_seconds: float = REFRESH_SECONDS,
        working: Path | None = None,
    ) -> None:
        self.store = opened.store
        self.index = opened.index
        self.folder = opened.folder
        layered = embedder if isinstance(embedder, LayeredEmbedder) else None
        self.embedder = layered.base if layered else embedder
        self.quality = layered.quality if layered else None
        """The better embedder, if the store is to have its vectors; one that has them is asked with it anyway."""
        self.folders = tuple(folders)
        self.contexts = contexts
        self._embedder_matched = False
        self._views: Views | None = None
        self._profiles = LruCache[object, Profile](_PROFILES_KEPT)
        self._pages = LruCache[tuple[str, View, int], str](_PAGES_KEPT)
        self.upkeep = Upkeep(
            self.folder,
            self.store,
            self.index,
            open_embedder=self._embedder_for,
            open_counter=lambda: counter_for(DEFAULT_ENCODING)[0],
            seconds=refresh_seconds,
            working=working,
        )

    def check_embedder(self) -> None:
        """Note whether the embedder made the store's vectors, before somebody else embeds the store anew."""
        if self.embedder is not None:
            with self.store.snapshot_of_all_tenants() as snapshot:
                self._embedder_matched = snapshot.embedder() == (self.embedder.name, self.embedder.dimensions)

    def profile(self, name: str) -> Profile:
        """Return a profile by name from the user's folders or the built-in ones, with the user's lenses."""
        # With the state of the files: a profile that is edited counts from the next question on.
        key = (name, profile_files_state(self.folders, name))
        known = self._profiles.get(key)
        if known is not None:
            return known
        loaded = with_lenses(load_profile(name, self.folders), user_lenses(self.folders))
        return self._profiles.put(key, loaded)

    @contextmanager
    def reading(self, view: View) -> Iterator[Reading]:
        """Pin one consistent reading of the store, with its index and embedder.

        Files that changed since they were read are read again first, or their nodes are marked. Inside
        `checking_once` all that read the same view read one moment.
        """
        with open_shared((self, view), lambda: self._open_reading(view)) as reading:
            yield reading

    @contextmanager
    def _open_reading(self, view: View) -> Iterator[Reading]:
        if view.consistency and view.consistency not in CONSISTENCIES:
            raise UnknownName("consistency", view.consistency, CONSISTENCIES)
        if view.as_of is not None and not 0 <= view.as_of <= _LAST_SEQUENCE:
            raise InvalidInput(
                f"A story has no point {view.as_of}. Give the number of a chapter, such as 3; a prologue is 0."
            )
        fresh = self.upkeep.check(view.tenants)
        try:
            # Searching and reading see one snapshot, whatever is written meanwhile.
            with self._store_as_of(view) as (store, index, seen), store.snapshot(seen) as snapshot:
                embedder, notes = self._usable_embedder(snapshot)
                marked, notes = mark_snapshot(snapshot, fresh.marks), (*notes, *fresh.notes)
                yield Reading(marked, index, embedder, notes, self.upkeep)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            # Values that make no sense may come from a damaged file, which then says so when it is asked.
            # Our own errors say what is wrong, and looking through the file costs seconds.
            damage = () if isinstance(error, WeftError) else self.store.verify()
            if not damage:
                raise
            raise StoreCorrupt(
                f"The store is damaged ({damage[0]}). Restore a backup with `weft restore`, or save what can be "
                "read with `weft doctor --repair`."
            ) from error

    def _embedder_for(self, vectors: tuple[str, int] | None) -> Embedder | None:
        """Return the embedder that made the stored vectors, if it is in use or ships with Weft."""
        if vectors is None:
            return None
        for embedder in (self.embedder, open_embedder()):
            if embedder is not None and (embedder.name, embedder.dimensions) == vectors:
                return embedder
        return None

    @contextmanager
    def _store_as_of(self, view: View) -> Iterator[tuple[Store, Index, View]]:
        """Return what a view is read from: as of a chapter, a store that was made of nothing later."""
        views = self._story_views(view)
        if views is None:
            yield self.store, self.index, view
            return
        with views.at(view) as (store, index):
            yield store, index, View(view.tenants)

    def _story_views(self, view: View) -> "Views | None":
        # A caller who asks for everything does not pay for loading what makes views.
        if view.as_of is None:
            return None
        from weft.indexing.stories import has_stories

        if not has_stories(self.store, view.tenants):
            return None
        from weft.indexing.chapters import check_point

        check_point(self.store, view.tenants, view.as_of)
        if self._views is None:
            from weft.indexing.views import Views

            count, _ = counter_for(DEFAULT_ENCODING)
            self._views = Views(self.store, self.folder / "derived" / "views", self.embedder, count)
        return self._views

    def _usable_embedder(self, snapshot: Snapshot) -> tuple[Embedder | None, tuple[str, ...]]:
        """Return the embedder if it made the store's vectors; otherwise questions go on by words and links.

        A note says why and what to type. Where the embedder was the right one until the store was embedded anew, a
        service answers like that until it is started with the new one.
        """
        made_by = snapshot.embedder()
        if self.embedder is None or made_by is None:
            return None, ()
        if made_by == (self.embedder.name, self.embedder.dimensions):
            self._embedder_matched = True
            embedder, notes = self._with_quality(self.embedder, snapshot)
            return embedder, (*notes, *_notes_on_waiting(snapshot))
        mismatch = (
            f"The store's vectors were made by {made_by[0]!r} ({made_by[1]} dimensions), but "
            f"{self.embedder.name!r} ({self.embedder.dimensions}) is in use."
        )
        if self._embedder_matched:
            return None, (f"{mismatch} {_REEMBEDDED}",)
        is_outdated = is_own_model(made_by[0]) and is_own_model(self.embedder.name)
        advice = _OUTDATED if is_outdated else _OTHER_EMBEDDER
        command = _REEMBED if isinstance(self.store, SqliteStore) else _QUEUE_REEMBED
        return None, (f"{mismatch} {advice.format(command=command)}",)

    def _with_quality(self, embedder: Embedder, snapshot: Snapshot) -> tuple[Embedder, tuple[str, ...]]:
        """Return the embedder with the better one beside it, if that made the store's second vectors."""
        state = snapshot.quality()
        if state is None:
            return embedder, ()
        # Loaded only for stores that have such vectors.
        from weft.embed.quality import StaticWithQuality, quality_embedder

        try:
            quality = quality_embedder()
        except WeftError as error:
            return embedder, (f"Meaning is measured by the static vectors alone. {error}",)
        if (quality.name, quality.dimensions) != (state.embedder, state.dimensions):
            return embedder, (
                f"Meaning is measured by the static vectors alone: {state.embedder!r} made the better ones. "
                f"Run `{_REEMBED} --embedder quality` to make them anew.",
            )
        return StaticWithQuality(embedder, quality, is_complete=state.is_complete), ()

    def choose_profile(self, name: str, lens: str | None, snapshot: Snapshot) -> Profile:
        """Return the profile of that name, or the one that suits the store and has the lens."""
        chosen = self.profile(name or self._page_for(snapshot))
        if name or lens is None or lens in chosen.lens_names:
            return chosen
        # A lens of another kind of page brings that page; general comes first, as the page for anything.
        known = {profile.name: profile for profile in [self.profile(GENERAL), *usable_profiles(self.folders)]}
        found = next((profile for profile in known.values() if lens in profile.lens_names), None)
        if found is None:
            lenses = {lens_name for profile in known.values() for lens_name in profile.lens_names}
            raise UnknownName("lens", lens, lenses)
        return found

    def _page_for(self, snapshot: Snapshot) -> str:
        """Return the name of the page that suits what a snapshot shows."""
        key = (snapshot.identity, snapshot.view, snapshot.sequence)
        return self._pages.get_or_make(key, lambda: choose_page(snapshot))

    def find_targets(self, words: Sequence[str], view: View) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the words as nodes to start from if all of them name one, and those that are also mere words."""
        with self.reading(view) as reading:
            named = {word: find_named(word, reading.snapshot) for word in words}
            if not all(named.values()):
                return (), ()
            also = [word for word in words if is_also_a_word(word, named[word], reading.snapshot)]
        # By key where one node is meant, since an address or a title may not be looked up again.
        starts = [
            nodes[0].key if len(nodes) == 1 and ("nodeid=" in word or _is_link(word)) else word
            for word, nodes in named.items()
        ]
        return tuple(starts), tuple(also)

    def read_topic(self, question: str, view: View) -> tuple[tuple[str, ...], str]:
        """Return the node that a question names, if it is a mere name, and what is left to ask then."""
        start, words = self.find_targets((question,), view) if question else ((), ())
        return start, " ".join(words) if start else question

    def find(self, name: str, view: View) -> tuple[Node, ...]:
        """Return the nodes that a key, id, title, alias or address names."""
        with self.reading(view) as reading:
            return find_named(name, reading.snapshot)

    def look_up(self, name: str, view: View) -> tuple[Node, ...]:
        """Return the nodes that a name means, also one that a page cites: a place in a file, a hash, a symbol."""
        from weft.pipeline.lookup import look_up

        with self.reading(view) as reading:
            return look_up(name, reading)

    def why_not_read(self, name: str, tenants: Sequence[str]) -> tuple[str, ...]:
        """Return why files that a name means were not read when their source was indexed, a sentence each."""
        from weft.indexing.not_read import explain

        return explain(self.store, tenants, name)

    def neighbours(self, name: str, view: View, limit: int, wanted: "LinkFilter") -> tuple[tuple[Node, Edge], ...]:
        """Return the neighbours of a node with the edges that lead to them, strongest first."""
        from weft.pipeline.lookup import look_up
        from weft.pipeline.outline import ALL_EDGES

        with self.reading(view) as reading:
            snapshot = reading.snapshot
            own = {node.id for node in look_up(name, reading)}
            # Filtered before the limit counts, or a hub's strongest links would leave nothing of the wanted ones.
            edges = snapshot.edges(sorted(own), limit if wanted == LinkFilter() else ALL_EDGES)
            if wanted.types:
                edges = [each for each in edges if each[2].type in wanted.types]
            if wanted.direction:
                edges = [each for each in edges if (each[0] in own) == (wanted.direction == "out")]
            ends = {end for source, target, _ in edges for end in (source, target)}
            others = snapshot.nodes(sorted(ends - own))
            found = (
                (others[other].node, edge)
                for source, target, edge in edges
                if (other := target if source in own else source) in others
            )
            return tuple(islice((pair for pair in found if wanted.admits(pair[0])), limit))

    def nodes_after(self, after: int, limit: int, filter: Filter, view: View) -> tuple[Node, ...]:
        """Return the next nodes by id that pass the filter."""
        with self.store.snapshot(view) as snapshot:
            if filter.empty:
                return tuple(row.node for row in snapshot.page_of_nodes(after, limit))
            # Matching ids are in order, so paging needs no other index.
            ids = snapshot.matching_ids(filter)
            page = ids[ids > after][:limit].tolist()
            return tuple(row.node for row in snapshot.nodes(page).values())

    def holds(self, tenant: str) -> bool:
        """Return whether a tenant has anything to search."""
        with self.store.snapshot(View((tenant,))) as snapshot:
            return snapshot.statistics([]).passages > 0

    def close(self) -> None:
        """Close the store's files and connections."""
        # What reads the store is closed before it.
        self.contexts.close()
        if self._views is not None:
            self._views.close()
        self.index.close()
        self.store.close()


def _notes_on_waiting(snapshot: Snapshot) -> tuple[str, ...]:
    """Return a note if some passages have no vector yet, because embedding the store anew was interrupted."""
    waiting = snapshot.count_waiting() if isinstance(snapshot, SqliteSnapshot) else 0
    if not waiting:
        return ()
    return (f"{waiting:,} passages wait for a vector and are found by words alone. Run `{_REEMBED}` to continue.",)


def check_limit(limit: int, does: str) -> None:
    """Raise unless a limit lets at least one through; `does` is the verb of the message."""
    if limit < 1:
        raise InvalidInput(f"A limit of {limit} {does} nothing. Give 1 or more.")


def retry_once(answer: Callable[[], Answer]) -> Answer:
    """Return the answer; ask once more when the server of the store was lost on the way."""
    try:
        return answer()
    # It has already waited as long as it may; a second time would double that.
    except StoreTimedOut:
        raise
    except StoreUnreachable:
        return answer()


def with_notes(answer: Notable, *notes: str | None) -> Notable:
    """Return the answer with further notes, where there are any."""
    return replace(answer, notes=(*answer.notes, *(note for note in notes if note is not None)))


# --- what a request leaves open -----------------------------------------------------------------------------


def choose_page(snapshot: Snapshot) -> str:
    """Return the profile for a request that names none: `notes` for a graph of notes, else `general`."""
    notes = sum(_count(snapshot, form=form) for form in _FORMS)
    if not notes:
        return GENERAL
    plain = _count(snapshot, _PLAIN_KINDS) - sum(_count(snapshot, _PLAIN_KINDS, form) for form in _FORMS)
    others = plain + _count(snapshot, _OTHER_KINDS)
    return NOTES if notes >= _NOTES_FOR_ONE_OTHER * others else GENERAL


def holds_tana(snapshot: Snapshot) -> bool:
    """Return whether a view holds notes of Tana."""
    return _count(snapshot, form=TANA_FORM) > 0


def _count(snapshot: Snapshot, kinds: tuple[str, ...] = (), form: Mapping[str, str] | None = None) -> int:
    return len(snapshot.matching_ids(Filter(kinds=kinds, where=tuple((form or {}).items()))))


def find_named(name: str, snapshot: Snapshot) -> tuple[Node, ...]:
    """Return the nodes that a key, id, title, alias, or the address of a note or a link to it names."""
    # Half of a surrogate pair, which no valid text holds, names nothing.
    name = name.encode("utf-8", "replace").decode("utf-8")
    # `[[Projects/Atlas#Plan|the plan]]`, as copied out of a note.
    linked = re.split(r"[#|]", name[2:-2])[0].strip() if _is_link(name) else ""
    forms = [form for form in (name, name.rpartition("nodeid=")[2], linked, linked and f"{linked}.md") if form]
    # All at once: on a server every lookup is a journey there and back.
    found = snapshot.find(list(dict.fromkeys(forms)))
    ids = next((found[form] for form in forms if form in found), ())
    rows = snapshot.nodes(ids)
    return tuple(rows[number].node for number in ids if number in rows)


def _is_link(name: str) -> bool:
    return name.startswith("[[") and name.endswith("]]")


def is_also_a_word(word: str, nodes: tuple[Node, ...], snapshot: Snapshot) -> bool:
    """Return whether a bare id is also a word of other nodes, so that the caller may as well mean the word."""
    titles = {name.casefold() for node in nodes for name in (node.title, *(alias.text for alias in node.aliases))}
    # Ids such as `a1B2` or `fooBar` are not words that someone would search for.
    looks_like_a_word = word.isalpha() and (word.islower() or word.istitle() or word.isupper())
    if not looks_like_a_word or word.casefold() in titles:
        return False
    # Loaded here, because it loads numpy, and what prints help loads this module.
    from weft.scoring.bm25 import term_hashes

    hashes = term_hashes(analyze(word))
    own = len(snapshot.passages_of_nodes([node.id for node in nodes]))
    frequency = snapshot.statistics(hashes).frequency
    return any(frequency.get(term, 0) > own for term in hashes)
