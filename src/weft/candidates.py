"""What can be said of a candidate, and candidates with more told about them."""

from collections.abc import Collection, Mapping

from weft.model import Candidate

Spans = tuple[tuple[int, int], ...]


def told(
    candidate: Candidate,
    parts: Mapping[str, float],
    *,
    score: float | None = None,
    spans: Spans | None = None,
    covers: Mapping[int, float] | None = None,
    window: tuple[int, int] | None = None,
) -> Candidate:
    """The candidate with these parts and, where given, this score, these spans, terms covered and window."""
    return Candidate(
        node=candidate.node,
        score=candidate.score if score is None else score,
        parts=parts,
        probe=candidate.probe,
        match_source=candidate.match_source,
        distance=candidate.distance,
        root=candidate.root,
        path=candidate.path,
        covers=candidate.covers if covers is None else covers,
        spans=candidate.spans if spans is None else spans,
        text_tokens=candidate.text_tokens if window is None else None,
        sketch=candidate.sketch,
        window=window or candidate.window,
    )


def is_aside(candidate: Candidate, types: Collection[str]) -> bool:
    """Whether the last step led against a link of one of these types, as from a function to its caller."""
    last = candidate.path[-1] if candidate.path else None
    return last is not None and last.direction == "in" and last.edge_type in types


def beside(candidate: Candidate) -> str:
    """The key of the node from which the last step led to the candidate."""
    return candidate.path[-2].key if len(candidate.path) > 1 else candidate.root
