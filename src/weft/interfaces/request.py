"""Which lenses there are, profile by profile."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from weft.errors import InvalidInput, ProfileError, UnknownName
from weft.frozen import dataclass
from weft.interfaces.values import clean
from weft.model import DEFAULT_TENANT, UNSET, Context, Filter, Json, Node, Topic, Unset, View
from weft.profiles import available_profiles, load_lenses, load_profile, with_lenses
from weft.profiles.types import Profile

if TYPE_CHECKING:
    from weft.api import Weft


def catalog(folders: Sequence[Path]) -> tuple[Profile, ...]:
    """Every profile that can be used, with the user's lenses; `weft profile check` tells of those that cannot."""
    lenses = [lens for folder in reversed(folders) for lens in load_lenses(folder)]
    found = []
    for name in available_profiles(folders):
        try:
            found.append(with_lenses(load_profile(name, folders), lenses))
        except ProfileError:
            continue
    return tuple(found)


_SHARE: Final = re.compile(r"\d{1,6}(\.\d{1,6})?%?\Z")
_EQUAL: Final = "equal"


@dataclass(frozen=True, slots=True)
class Aim:
    """Where a page begins; `notes` say what was decided on the caller's behalf."""

    question: str = ""
    start: tuple[str, ...] = ()
    topics: tuple[Topic, ...] = ()
    notes: tuple[str, ...] = ()


def aim(weft: "Weft", words: Sequence[str], view: View, profile: str, blend: str | None = None) -> Aim:
    """Words that all name nodes are where to start; otherwise together they are the question.

    With a blend every word is a topic of its own, a node or a question.
    """
    if not words and not _asks_by_itself(weft, profile):
        raise InvalidInput(
            'The question is empty. Ask something, as in `weft context "how are refunds approved"`, or give the '
            "key, id or title of a node."
        )
    if blend is not None:
        return blended(weft, words, view, shares_of(blend, len(words)))
    named = {word: weft.show(word, tenants=view.tenants, as_of=view.as_of) for word in words}
    if not words or not all(named.values()):
        return Aim(question=" ".join(words))
    both = [word for word in words if _is_also_a_word(weft, word, named[word], view)]
    return Aim(question=" ".join(both), start=tuple(words), notes=tuple(map(_told, both)))


def shares_of(blend: str, topics: int) -> tuple[float, ...]:
    """The shares of `60/40`, one for each topic; `equal` divides equally."""
    if blend.strip().lower() == _EQUAL:
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


def blended(weft: "Weft", words: Sequence[str], view: View, shares: Sequence[float]) -> Aim:
    """Topics of which each is a node or a question, with their shares."""
    topics, both = [], []
    for word, share in zip(words, shares, strict=True):
        named = weft.show(word, tenants=view.tenants, as_of=view.as_of)
        asked = not named or _is_also_a_word(weft, word, named, view)
        both += [word] if named and asked else []
        topics.append(Topic(word if asked else "", (word,) if named else (), share))
    return Aim(topics=tuple(topics), notes=tuple(map(_told, both)))


def _is_also_a_word(weft: "Weft", word: str, named: Sequence[Node], view: View) -> bool:
    """Whether a bare id is also said in other nodes, so that the caller may as well mean the word."""
    titles = {name.casefold() for node in named for name in (node.title, *(each.text for each in node.aliases))}
    written = word.isalpha() and (word.islower() or word.istitle() or word.isupper())
    if not written or word.casefold() in titles:
        return False
    limit = len(named) + 1
    found = weft.search(word, match="bm25", limit=limit, tenants=view.tenants, as_of=view.as_of).candidates
    keys = {(node.tenant, node.key) for node in named}
    return any((each.node.tenant, each.node.key) not in keys for each in found)


def _told(word: str) -> str:
    return f"{word!r} is the id of a node and also a word: the page starts from the node and holds both."


def _asks_by_itself(weft: "Weft", profile: str) -> bool:
    return any("{question}" not in probe.question for probe in weft.profile(profile).probes)


DEFAULT_PROFILE: Final = "general"


@dataclass(frozen=True, slots=True)
class Asked:
    """What somebody asks for, in clean values; unset ones come from the profile."""

    words: tuple[str, ...] = ()
    profile: str | None = None
    preset: str | None = None
    lens: str | None = None
    depth: int | None = None
    max_tokens: int | Unset | None = UNSET
    format: str | None = None
    include_fields: bool | None = None
    filter: Filter = field(default_factory=Filter)
    tenants: tuple[str, ...] = (DEFAULT_TENANT,)
    as_of: int | None = None
    consistency: str = ""
    parameters: Mapping[str, Json] | None = None
    token_model: str = "cl100k_base"
    now: datetime | None = None
    session: str | None = None
    blend: str | None = None


def ask(weft: "Weft", asked: Asked) -> Context:
    """The context for what is asked, kept for later comparison."""
    profile = asked.profile or profile_with(weft, asked.lens)
    _check_depth(asked.depth, weft.profile(profile).max_depth)
    aimed = aim(weft, asked.words, View(asked.tenants, asked.as_of, asked.consistency), profile, asked.blend)
    notes = check_filter(weft, asked.filter, asked.tenants)
    found = weft.context(
        aimed.question,
        start=aimed.start,
        topics=aimed.topics,
        profile=profile,
        preset=asked.preset,
        lens=asked.lens,
        depth=asked.depth,
        max_tokens=asked.max_tokens,
        format=asked.format,
        include_fields=asked.include_fields,
        filter=asked.filter,
        tenants=asked.tenants,
        as_of=asked.as_of,
        consistency=asked.consistency,
        parameters=asked.parameters,
        token_model=asked.token_model,
        now=asked.now,
        session=session_name(asked.session),
        keep=True,
    )
    return replace(found, notes=(*notes, *aimed.notes, *found.notes))


def _check_depth(depth: int | None, most: int) -> None:
    """Refuse what is no way to walk; who wants no links at all asks `search`."""
    if depth is not None and not 1 <= depth <= most:
        raise InvalidInput(f"Depth {depth} is out of range. Give 1 to {most}, or leave it out for the lens's own.")


def session_name(given: str | None) -> str | None:
    """A session's name as it is kept, or None when none is given."""
    if given is None:
        return None
    name = " ".join(clean(given).split())
    if not name or len(name) > 200:
        raise InvalidInput(f"{given[:50]!r} cannot name a session. Give a name of 1 to 200 characters.")
    return name


def profile_with(weft: "Weft", lens: str | None) -> str:
    """The profile to use when none is named: the general one, or the first that has the lens."""
    if lens is None or lens in {each.name for each in weft.profile(DEFAULT_PROFILE).lenses}:
        return DEFAULT_PROFILE
    known = {profile.name: {each.name for each in profile.lenses} for profile in catalog(weft.folders)}
    found = next((name for name, lenses in known.items() if lens in lenses), None)
    if found is None:
        raise UnknownName("lens", lens, {each for lenses in known.values() for each in lenses})
    return found


def check_filter(weft: "Weft", wanted: Filter, tenants: Sequence[str]) -> tuple[str, ...]:
    """Refuse kinds and sources that the tenants do not have; a note for each tenant that holds nothing."""
    notes = []
    for tenant in tenants:
        if not weft.holds(tenant):
            known = ", ".join(sorted(weft.status().by_tenant)) or "(none)"
            notes.append(f"The tenant {tenant!r} holds nothing. Known: {known}.")
    if wanted.kinds or wanted.sources:
        status = weft.status(tenants)
        _check("kind", wanted.kinds, status.by_kind)
        _check("source", wanted.sources, status.by_source)
    return tuple(notes)


def _check(what: str, given: Sequence[str], allowed: Mapping[str, int]) -> None:
    for each in given:
        if each not in allowed:
            raise UnknownName(what, each, allowed, f"These are the {what}s in the store.")
