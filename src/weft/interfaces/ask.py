"""Ask for a page on behalf of a person or an agent: the command line and the tools both ask through here."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from weft.errors import InvalidInput, UnknownName
from weft.interfaces.request import clean, make_filter, make_request, make_view
from weft.model import Candidate, Context, Filter, Request, Topic, View

if TYPE_CHECKING:
    from weft.api import Weft


# A session's name is printed in notes and kept in a file: long enough for ids, short enough to read.
_LONGEST_SESSION_NAME: Final = 200
_SHARE: Final = re.compile(r"\d{1,6}(\.\d{1,6})?%?\Z")
_PATH: Final = re.compile(r"\S*[./]\S*[^\s?!.]")
"""A word that may be the path of a file: it has a dot or a slash and does not end like a sentence."""
_EQUAL_SHARES: Final = "equal"
_ASKS_CHANGES: Final = re.compile(
    r"\buncommitted\b|\b(?:unstaged|staged|working[- ]tree|local) (?:changes|diff|edits)\b"
    r"|\bwhat (?:am|are|have|did) (?:i|we) (?:just )?(?:chang(?:e|ed|ing)|edit(?:ed|ing)?|working on)\b"
    r"|\bmy (?:current |own )?(?:changes|edits|diff)\b",
    re.IGNORECASE,
)
"""How somebody asks for what they changed and have not committed yet."""
_MAX_WORDS_ABOUT_CHANGES: Final = 8


def ask(weft: "Weft", values: Mapping[str, Any]) -> Context:
    """Return the page for the values of a request, by field name, and keep it for later comparison."""
    # Loaded here, because what prints help loads this module.
    from weft.indexing.freshness import checking_once

    with checking_once():
        return _ask(weft, values)


def _ask(weft: "Weft", values: Mapping[str, Any]) -> Context:
    lens, depth = values.get("lens"), values.get("depth")
    view = make_view(values)
    with weft.reading(view) as reading:
        chosen = weft.reader.choose_profile(values.get("profile") or "", lens, reading.snapshot)
    profile = chosen.name
    # Checked before anything is searched, so that a mistake costs nothing.
    _check_depth(depth, chosen.max_depth)
    targets = find_targets(weft, values.get("topic") or (), view, profile, values.get("blend"))
    check_filter(weft, make_filter(values), view.tenants)
    changes = working_changes(weft, targets.question, view)
    request = make_targeted_request(values, targets, profile, changes)
    now = values.get("now") or datetime.now(UTC)
    context = weft.kept(request, now, session=clean_session_name(values.get("session")))
    return replace(context, notes=(*empty_tenants(weft, view.tenants), *targets.notes, *context.notes))


def working_changes(weft: "Weft", question: str, view: View) -> tuple[Candidate, ...] | None:
    """Return what is changed and not committed, if the question asks for that, or that there is nothing.

    A longer question may ask what was changed long ago, for which a clean working tree is no answer.
    """
    if not _ASKS_CHANGES.search(question):
        return None
    from weft.sources.git.working_changes import describe_clean_tree, read_working_changes

    roots = weft.reader.upkeep.roots(view.tenants)
    places = [
        (root, source, tenant) for (tenant, source), root in sorted(roots.items()) if (root / ".git").exists()
    ]
    nodes = [node for place in places for node in read_working_changes(*place)]
    if not nodes and len(question.split()) <= _MAX_WORDS_ABOUT_CHANGES:
        nodes = [describe_clean_tree(*place) for place in places]
    return tuple(Candidate(node, 1.0 - 0.001 * rank) for rank, node in enumerate(nodes)) or None


def _check_depth(depth: int | None, most: int) -> None:
    """Refuse a depth that is not a way to walk; a caller who wants no links at all uses `search`."""
    if depth is not None and not 1 <= depth <= most:
        raise InvalidInput(f"Depth {depth} is out of range. Give 1 to {most}, or leave it out for the lens's own.")


def clean_session_name(name: str | None) -> str | None:
    """Return a session's name as it is kept, or None when none is given."""
    if name is None:
        return None
    cleaned = " ".join(clean(name).split())
    if not cleaned or len(cleaned) > _LONGEST_SESSION_NAME:
        raise InvalidInput(
            f"{name[:50]!r} cannot name a session. Give a name of 1 to {_LONGEST_SESSION_NAME} characters."
        )
    return cleaned


def refuse_exact_options(values: Mapping[str, Any]) -> None:
    """Refuse what only a search for an exact text does: left out silently, it would seem to have been heeded."""
    for name in ("path", "around"):
        if values.get(name):
            raise InvalidInput(f"{name!r} goes with an exact search. Set 'exact' too, or leave {name!r} out.")


def empty_tenants(weft: "Weft", tenants: Sequence[str]) -> tuple[str, ...]:
    """Return a note for each tenant that holds nothing: it may be empty on purpose, and the others still answer.

    To be called after the answer, which first reads files that are new or changed.
    """
    empty = [tenant for tenant in tenants if not weft.holds(tenant)]
    if not empty:
        return ()
    known = ", ".join(sorted(weft.status().by_tenant)) or "(none)"
    return tuple(f"The tenant {tenant!r} holds nothing. Known: {known}." for tenant in empty)


def check_filter(weft: "Weft", wanted: Filter, tenants: Sequence[str]) -> None:
    """Refuse kinds and sources that the tenants do not have."""
    if wanted.kinds or wanted.sources:
        # Counting a large store takes a while, so it is done only for a filter that needs it.
        status = weft.status(tenants)
        for what, names, allowed in (
            ("kind", wanted.kinds, status.by_kind),
            ("source", wanted.sources, status.by_source),
        ):
            for name in names:
                if name not in allowed:
                    raise UnknownName(what, name, allowed, f"These are the {what}s in the store.")


# --- what the page is about -------------------------------------------------------------------------------


class Targets(Struct, frozen=True):
    """The subject of a page; `notes` say what was decided on the caller's behalf."""

    question: str = ""
    start: tuple[str, ...] = ()
    topics: tuple[Topic, ...] = ()
    notes: tuple[str, ...] = ()


def make_targeted_request(
    values: Mapping[str, Any], targets: Targets, profile: str, changes: tuple[Candidate, ...] | None
) -> Request:
    """Return the request of a caller's values about the targets; `changes` are those that nobody committed yet."""
    request = make_request(
        values,
        question=targets.question,
        start=targets.start,
        topics=targets.topics,
        profile=profile,
        candidates=changes,
    )
    # The question's words need not stand in a difference for it to be the answer.
    return replace(request, floor=0.0) if changes else request


def find_targets(
    weft: "Weft", words: Sequence[str], view: View, profile: str, blend: str | None = None
) -> Targets:
    """Decide what a caller's words mean: if all of them name nodes, start there; otherwise they are the question.

    With a blend every word is a topic of its own, a node or a question.
    """
    # Profiles such as `premortem` bring their own questions.
    if not words and all("{question}" in probe.question for probe in weft.profile(profile).probes):
        raise InvalidInput(
            'The question is empty. Ask something, as in `weft context "how are refunds approved"`, or give the '
            "key, id or title of a node."
        )
    if blend is not None:
        return blend_topics(weft, words, view, parse_shares(blend, len(words)))
    start, ambiguous = weft.reader.find_targets(words, view) if words else ((), ())
    if not start:
        return Targets(question=" ".join(words), notes=_not_read_notes(weft, words, view))
    return Targets(question=" ".join(ambiguous), start=start, notes=tuple(map(_ambiguity_note, ambiguous)))


def parse_shares(blend: str, topics: int) -> tuple[float, ...]:
    """Return the shares of a blend such as `60/40`, one for each topic; `equal` divides equally."""
    if blend.strip().lower() == _EQUAL_SHARES:
        return (1.0,) * topics
    parts = [part.strip() for part in blend.split("/")]
    if not all(_SHARE.match(part) and float(part.rstrip("%")) > 0 for part in parts):
        raise InvalidInput(
            f"{blend!r} is no blend. Write a share above 0 for each topic, as in 60/40, or `equal`."
        )
    if len(parts) != topics:
        raise InvalidInput(
            f"The blend {blend!r} has {len(parts)} shares for {topics} topics. Give each topic one, and quote "
            'topics of several words: weft context "project X" "person Y" --blend 60/40.'
        )
    return tuple(float(part.rstrip("%")) for part in parts)


def _not_read_notes(weft: "Weft", words: Sequence[str], view: View) -> tuple[str, ...]:
    """Return a note for each word that means a file which was not read; sentences cannot mean one."""
    paths = [word for word in words if _PATH.fullmatch(word) and not weft.reader.find(word, view)]
    return tuple(note for word in paths for note in weft.reader.why_not_read(word, view.tenants))


def blend_topics(weft: "Weft", words: Sequence[str], view: View, shares: Sequence[float]) -> Targets:
    """Make a topic of every word, a node or a question, with its share."""
    topics: list[Topic] = []
    ambiguous: list[str] = []
    for word, share in zip(words, shares, strict=True):
        start, also = weft.reader.find_targets((word,), view)
        ambiguous += also
        topics.append(Topic(word if not start or also else "", start, share))
    return Targets(topics=tuple(topics), notes=tuple(map(_ambiguity_note, ambiguous)))


def _ambiguity_note(word: str) -> str:
    """Return the note for a word that is an id and a word."""
    return f"{word!r} is the id of a node and also a word: the page starts from the node and holds both."


# --- what a question left unread ----------------------------------------------------------------------------


def finish_reading(weft: "Weft") -> bool:
    """Start a process that indexes the sources of which the last question left something unread.

    Return whether one was started: none is while another process writes, which most likely does the same.
    """
    # Loaded here, because most questions leave nothing unread.
    from weft.interfaces.weft_process import start_weft
    from weft.ports import WritesNow

    unread, store = weft.reader.upkeep.last.unread, weft.store
    if not unread or not isinstance(store, WritesNow):
        return False
    with store.writing_now() as is_free:
        if not is_free:
            return False
    for each in unread:
        where = ("--source", each.source, "--tenant", each.tenant, "--store", weft.location)
        start_weft("index", str(each.root), *where)
    return True
