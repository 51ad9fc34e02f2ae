"""Copy candidates with new scores, and tell how a candidate was reached."""

from collections.abc import Collection, Mapping

from weft.model import Candidate, Node, Step

Spans = tuple[tuple[int, int], ...]
NodeRef = tuple[str, str]
"""A node's tenant and key: a key alone may exist in several tenants."""


def node_ref(candidate: Candidate) -> NodeRef:
    """Return the reference that tells the candidate's node from all others."""
    return candidate.node.tenant, candidate.node.key


def with_scores(
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
    """Return a copy of the candidate with these score parts; None keeps the value of any other field.

    With a window the stored token count is dropped, because it counts the whole text.
    """
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


def is_related_pointer(candidate: Candidate, types: Collection[str]) -> bool:
    """Return whether the last step led against a link of one of the types, as from a function to its caller."""
    last = candidate.path[-1] if candidate.path else None
    return last is not None and last.direction == "in" and last.edge_type in types


def previous_key(candidate: Candidate) -> str:
    """Return the key of the node from which the last step led to the candidate."""
    return candidate.path[-2].key if len(candidate.path) > 1 else candidate.root


def is_unnamed_quotation(candidate: Candidate, quoting_field: str | None) -> bool:
    """Return whether the candidate's text is a quotation and the question does not name the candidate.

    A node with the quoting field, such as a minor character, repeats a passage that was written about it. The
    words of that passage say nothing for the node itself, so only its name can make it relevant.
    """
    if quoting_field is None or quoting_field not in candidate.node.fields:
        return False
    return not (candidate.parts.get("named") or candidate.parts.get("start"))
