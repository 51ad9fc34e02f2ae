"""What can be said of a candidate, and candidates with more told about them."""

from collections.abc import Collection, Mapping

from weft.model import Candidate, Node, Step

Spans = tuple[tuple[int, int], ...]


def told(
    candidate: Candidate,
    parts: Mapping[str, float],
    *,
    score: float | None = None,
    spans: Spans | None = None,
    covers: Mapping[int, float] | None = None,
    window: tuple[int, int] | None = None,
    words: bytes | None = None,
    node: Node | None = None,
    probe: str | None = None,
    distance: int | None = None,
    root: str | None = None,
    path: tuple[Step, ...] | None = None,
    passage: tuple[int, int] | None = None,
) -> Candidate:
    """The candidate with these parts and, where given, another value for one of the others."""
    # By position, which is quicker than by name: this is done several times for every candidate.
    return Candidate(
        node or candidate.node,
        candidate.score if score is None else score,
        parts,
        candidate.probe if probe is None else probe,
        candidate.match_source,
        candidate.distance if distance is None else distance,
        candidate.root if root is None else root,
        candidate.path if path is None else path,
        candidate.covers if covers is None else covers,
        candidate.spans if spans is None else spans,
        candidate.text_tokens if window is None else None,
        candidate.sketch,
        window or candidate.window,
        candidate.words if words is None else words,
        passage or candidate.passage,
    )


def is_aside(candidate: Candidate, types: Collection[str]) -> bool:
    """Whether the last step led against a link of one of these types, as from a function to its caller."""
    last = candidate.path[-1] if candidate.path else None
    return last is not None and last.direction == "in" and last.edge_type in types


def beside(candidate: Candidate) -> str:
    """The key of the node from which the last step led to the candidate."""
    return candidate.path[-2].key if len(candidate.path) > 1 else candidate.root


def only_named(candidate: Candidate, quoting: str | None) -> bool:
    """Whether only its name could speak for a candidate, and nobody calls it: it has the field of those whose text
    is a quotation."""
    if quoting is None or quoting not in candidate.node.fields:
        return False
    return not (candidate.parts.get("named") or candidate.parts.get("start"))
