"""The printed page that a request to /api/context asks for."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from weft.facades.knowledge import KnowledgeRequest
from weft.facades.knowledge_page import shaped
from weft.faces.aiming import Aim, blended
from weft.faces.library import Weft
from weft.faces.rest.problems import Problem
from weft.faces.rest.requests import ContextRequest, FilterInput
from weft.faces.rest.shapes import candidate_from
from weft.gather import Observe
from weft.model import UNSET, Candidate, Context, Filter, Json, Request, View
from weft.profile import Profile, Score

KNOWLEDGE: Final = "knowledge"
_FLAGS: Final = ("include_entities", "include_examples", "include_schemas")
_LIST_FIELDS: Final = (
    *("entry_types", "entry_limit", "expand", "expansion_types", "max_depth", "context_limit"),
    *(*_FLAGS, "max_tokens", "lens"),
)
_PAGE_FIELDS: Final = (
    *("format", "start", "topics", "history", "filter", "include_fields", "parameters", "preset", "as_of"),
    *("consistency", "session", "candidates"),
)


def wants_page(given: ContextRequest) -> bool:
    """Whether something is asked for that only a printed page can give."""
    if (given.profile or KNOWLEDGE) != KNOWLEDGE:
        return True
    return any(getattr(given, name) not in (None, [], {}) for name in _PAGE_FIELDS)


def knowledge_request(given: ContextRequest) -> KnowledgeRequest:
    """What is asked of the lists."""
    named: dict[str, Any] = {name: getattr(given, name) for name in _LIST_FIELDS}
    for name in ("entry_types", "expansion_types"):
        named[name] = None if named[name] is None else tuple(named[name])
    return KnowledgeRequest(query=given.query, **named)


def page_for(
    given: ContextRequest, weft: Weft, tenants: tuple[str, ...], observe: Observe, session: str | None
) -> Context:
    """The page, by the profile that is named or `knowledge`, whose limits are those of the request."""
    name, view = given.profile or KNOWLEDGE, View(tenants, given.as_of, given.consistency or "")
    aimed = _aimed(given, weft, view)
    request = Request(
        question=aimed.question,
        history=tuple(given.history),
        start=aimed.start,
        topics=aimed.topics,
        profile=name,
        preset=given.preset,
        lens=given.lens,
        depth=None if name == KNOWLEDGE else _depth(given),
        max_tokens=given.max_tokens if "max_tokens" in given.model_fields_set else UNSET,
        format=given.format,
        include_fields=given.include_fields,
        filter=_filter(given),
        view=view,
        parameters=_parameters(given),
        candidates=_candidates(given, tenants),
        token_model=given.token_model,
    )
    now, profile = datetime.now(UTC), _profile(given, weft.profile(name))
    if session is None:
        page = weft.assemble(request, now, observe, profile)
    else:
        page = weft.kept(request, now, observe, profile, session)
    return replace(page, notes=(*aimed.notes, *page.notes))


def _aimed(given: ContextRequest, weft: Weft, view: View) -> Aim:
    if not given.topics:
        return Aim(given.query, tuple(given.start))
    others = [each for each in (given.query, *given.start) if each.strip()]
    words, shares = [topic.query for topic in given.topics], [topic.share for topic in given.topics]
    return blended(weft, [*words, *others], view, [*shares, *(1.0 for _ in others)])


def _candidates(given: ContextRequest, tenants: tuple[str, ...]) -> tuple[Candidate, ...] | None:
    """What the caller found, as nodes of the first tenant that is read."""
    if given.candidates is None:
        return None
    if given.topics:
        raise Problem(422, "Topics are searched for. Leave out candidates, or ask without topics.", "candidates")
    return tuple(
        Candidate(candidate_from(each, tenant), score=each.score)
        for tenant in tenants[:1]
        for each in given.candidates
    )


def _profile(given: ContextRequest, profile: Profile) -> Profile:
    """The profile within the limits of the request; others than `knowledge` have limits of their own."""
    if profile.name == KNOWLEDGE:
        return shaped(profile, knowledge_request(given))
    for field in sorted(given.model_fields_set & {"entry_limit", "context_limit", "expansion_types"}):
        raise Problem(422, f"{field} is of profile {KNOWLEDGE!r}; {profile.name!r} has limits of its own.", field)
    return profile


def _depth(given: ContextRequest) -> int | None:
    if not given.expand:
        return 0
    return given.max_depth if "max_depth" in given.model_fields_set else None


def _parameters(given: ContextRequest) -> dict[str, Json]:
    if (given.profile or KNOWLEDGE) != KNOWLEDGE:
        return dict(given.parameters)
    return {**{flag: getattr(given, flag) for flag in _FLAGS}, **given.parameters}


def _filter(given: ContextRequest) -> Filter:
    """What may be found; the entry types of `knowledge` are in its probes, so that links lead on to others."""
    own = () if (given.profile or KNOWLEDGE) == KNOWLEDGE else tuple(given.entry_types or ())
    wanted = given.filter or FilterInput()
    return Filter(
        kinds=tuple(dict.fromkeys((*own, *wanted.kinds))),
        tags=tuple(each.lstrip("#") for each in wanted.tags),
        sources=tuple(wanted.sources),
        where=tuple(sorted(wanted.where.items())),
        since=wanted.since,
        until=wanted.until,
    )


def is_timeless(profile: Profile) -> bool:
    """Whether no score of the profile weighs how fresh a node is."""
    scores = [profile.score, *(section.score for section in profile.sections if section.score)]
    return not any("recency" in _signals(each) for each in scores)


def _signals(score: Score) -> set[str]:
    return {*score.weights, *score.boosts, *(name for weights in score.without.values() for name in weights)}


def printed(page: Context) -> dict[str, Any]:
    """What an answer carries beside the lists: the page and its books."""
    return {
        "text": page.text,
        "format": page.format,
        "profile": page.profile,
        "token_model": page.token_model,
        "hash": page.hash,
        "sources": page.sources,
        "ledger": page.ledger,
        "manifest": page.manifest,
    }
