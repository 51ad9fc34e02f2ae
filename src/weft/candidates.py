"""Candidates with more told about them: what `dataclasses.replace` does, several times faster."""

from collections.abc import Mapping

from weft.model import Candidate

Spans = tuple[tuple[int, int], ...]


def told(
    candidate: Candidate,
    parts: Mapping[str, float],
    *,
    score: float | None = None,
    spans: Spans | None = None,
    covers: Mapping[int, float] | None = None,
) -> Candidate:
    """The candidate with these parts and, where given, this score, these spans and these terms covered."""
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
        text_tokens=candidate.text_tokens,
        sketch=candidate.sketch,
        window=candidate.window,
    )
