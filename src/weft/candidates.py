"""Candidates with more told about them: what `dataclasses.replace` does, several times faster."""

from collections.abc import Mapping

from weft.model import Candidate

Spans = tuple[tuple[int, int], ...]


def told(
    candidate: Candidate, parts: Mapping[str, float], *, score: float | None = None, spans: Spans | None = None
) -> Candidate:
    """The candidate with these parts and, where given, this score and these spans."""
    return Candidate(
        candidate.node,
        candidate.score if score is None else score,
        parts,
        candidate.probe,
        candidate.match_source,
        candidate.distance,
        candidate.root,
        candidate.path,
        candidate.spans if spans is None else spans,
        candidate.text_tokens,
        candidate.sketch,
    )
