"""Find values: clusters of experiences that are alike on one axis, each stated by the one nearest its centre."""

from collections import Counter
from collections.abc import Sequence
from math import log2
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from weft.errors import MissingPackage
from weft.memory.experiences import Experience
from weft.memory.memories import read_number
from weft.memory.vocabulary import VALUE
from weft.model import DEFAULT_TENANT, Json, Node, Origin

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


_MIN_CLUSTER_SIZE: Final = 3
"""Experiences that make a value at least: two may be alike by chance. It grows with the logarithm of their
number."""
_MIN_DENSE_NEIGHBOURS: Final = 2
"""HDBSCAN's `min_samples`: neighbours that make a place dense. Higher values leave more experiences without a
cluster."""
_REDUCED_DIMENSIONS: Final = 24
"""Many experiences are compared in so few dimensions, because HDBSCAN's trees are of no use among hundreds."""
_MAX_FULL_COMPARISONS: Final = 2_000
"""Up to so many experiences are compared in all dimensions; above, that would take too long."""
_NEAR_IDENTICAL_COSINE: Final = 0.9
"""From this likeness on, experiences say the same: three of them are a value, whatever the others are like."""
_MAJORITY: Final = 0.5
"""A cluster has a domain or strategy when more than this share of its members has it."""
_TIER_WEIGHT: Final = {"gold": 1.0, "silver": 0.8, "bronze": 0.5, "abandoned": 0.2}
"""How much an experience pulls the centre of its cluster, by how far its outcome can be relied on."""


class Value(Struct, frozen=True):
    """A cluster of experiences on an axis: how many there are, and the one nearest to their centre."""

    axis: str
    cluster_id: str
    text: str
    exemplar: str
    similarity: float
    members: tuple[tuple[str, float], ...]
    """Ids of the experiences with their similarity to the centre, nearest first."""
    size: int = 0
    domain: str = ""
    strategy: str = ""
    tenant: str = DEFAULT_TENANT

    @property
    def key(self) -> str:
        """The key of its node: a value stays the same as long as the same experience is nearest its centre."""
        return f"{VALUE}:{self.axis}/{self.exemplar}"


def find_values(axis: str, experiences: Sequence[Experience], vectors: "Floats") -> tuple[Value, ...]:
    """Find the values of an axis, the largest first; `vectors` has a unit or zero row for each experience."""
    # Sorted by id, so that the order in which experiences were stored changes no cluster.
    order = sorted(range(len(experiences)), key=lambda index: experiences[index].id)
    # A text without a vector would be at the same distance from everything.
    order = [index for index in order if vectors[index].any()]
    if len(order) < _MIN_CLUSTER_SIZE:
        return ()
    ordered, points = [experiences[index] for index in order], vectors[order]
    clusters: dict[int, list[int]] = {}
    for index, label in enumerate(_cluster(points)):
        if label >= 0:
            clusters.setdefault(label, []).append(index)
    values = [
        _make_value(axis, [ordered[index] for index in indexes], points[indexes]) for indexes in clusters.values()
    ]
    values.sort(key=lambda value: (-value.size, value.exemplar))
    return tuple(
        replace(value, cluster_id=f"{value.axis}-{number}") for number, value in enumerate(values, start=1)
    )


def _cluster(points: "Floats") -> list[int]:
    """Return the cluster of each point, -1 for none; the same for the same points."""
    try:
        from sklearn.cluster import HDBSCAN
        from sklearn.decomposition import PCA
    except ModuleNotFoundError as error:
        raise MissingPackage("Finding values", "scikit-learn") from error
    import numpy as np

    directions = points
    if len(points) > _MAX_FULL_COMPARISONS and points.shape[1] > _REDUCED_DIMENSIONS:
        # Rounded, so that the last digits, which differ between machines, decide nothing.
        points = np.round(PCA(_REDUCED_DIMENSIONS, svd_solver="covariance_eigh").fit_transform(points), 6)
    min_size = max(_MIN_CLUSTER_SIZE, int(log2(len(points))))
    found = HDBSCAN(min_cluster_size=min_size, min_samples=_MIN_DENSE_NEIGHBOURS, copy=True).fit(points)
    return _add_near_identical([int(label) for label in found.labels_], directions)


def _add_near_identical(labels: list[int], directions: "Floats") -> list[int]:
    """Return the clusters with one for each group of near-identical points that is in none.

    HDBSCAN compares densities, so where all points are alike there is nothing for a cluster to stand out from.
    """
    labels = list(labels)
    for index, label in enumerate(labels):
        if label >= 0:
            continue
        alike = [
            other
            for other in (directions @ directions[index] >= _NEAR_IDENTICAL_COSINE).nonzero()[0].tolist()
            if labels[other] < 0
        ]
        if len(alike) >= _MIN_CLUSTER_SIZE:
            number = max(labels) + 1
            for other in alike:
                labels[other] = number
    return labels


def shrink_value(value: Value, members: Sequence[Experience], vectors: "Floats") -> Value | None:
    """Return a value of these members alone, the rest of its own; None if they are too few to make one."""
    if len(members) < _MIN_CLUSTER_SIZE:
        return None
    return replace(_make_value(value.axis, members, vectors), cluster_id=value.cluster_id)


def _make_value(axis: str, members: Sequence[Experience], points: "Floats") -> Value:
    """Return the value of one cluster; experiences that can be relied on pull its centre nearer."""
    import numpy as np

    # An unknown tier, as another tool may write it, counts like an uncertain outcome.
    weights = np.array([_TIER_WEIGHT.get(member.tier, _TIER_WEIGHT["bronze"]) for member in members])
    centre = weights @ points
    centre /= np.linalg.norm(centre) or 1.0
    similarities = np.round(points @ centre, 6).tolist()
    # The id breaks ties, so that the exemplar, and with it the key, is the same every time.
    ranked = sorted(zip(similarities, members, strict=True), key=lambda pair: (-pair[0], pair[1].id))
    similarity, exemplar = ranked[0]
    return Value(
        axis=axis,
        cluster_id="",
        text=_statement(axis, exemplar),
        exemplar=exemplar.id,
        similarity=similarity,
        members=tuple((member.id, member_similarity) for member_similarity, member in ranked),
        size=len(members),
        domain=_majority_word([member.domain for member in members]),
        strategy=_majority_word([member.strategy for member in members]),
        tenant=exemplar.tenant,
    )


def _majority_word(words: Sequence[str]) -> str:
    """Return the word that most of the members share, or an empty text."""
    word, times = min(Counter(words).items(), key=lambda counted: (-counted[1], counted[0]))
    return word if times > _MAJORITY * len(words) else ""


def _statement(axis: str, experience: Experience) -> str:
    """Return what an experience says on the axis."""
    if axis == "surprise":
        return experience.surprise
    if axis == "root_cause" and experience.root_cause is not None:
        return f"{experience.root_cause.category}: {experience.root_cause.description}".removesuffix(": ")
    lesson = experience.lesson
    # A takeaway is written to be read alone; what worked often needs its goal beside it.
    learned = (lesson.takeaway or lesson.what_worked) if lesson else ""
    outcome = f"{experience.strategy} in {experience.domain} was {experience.status}: {experience.result}"
    return learned or outcome.removesuffix(": ")


def value_node(value: Value) -> Node:
    """Return the node that holds a value."""
    fields: dict[str, Json] = {
        "axis": value.axis,
        "cluster_id": value.cluster_id,
        "cluster_size": value.size,
        "similarity_to_centroid": value.similarity,
        "exemplar": value.exemplar,
        "domain": value.domain,
        "strategy": value.strategy,
    }
    return Node(
        key=value.key,
        kind=VALUE,
        tenant=value.tenant,
        text=value.text,
        fields={name: field for name, field in fields.items() if field != ""},
        origin=Origin(VALUE),
    )


def value_from_node(node: Node) -> Value:
    """Return the value that a node holds, without its members, to which its edges lead."""

    def text(name: str) -> str:
        return str(node.fields.get(name) or "")

    return Value(
        axis=text("axis"),
        cluster_id=text("cluster_id"),
        text=node.text,
        exemplar=text("exemplar"),
        similarity=read_number(node.fields.get("similarity_to_centroid"), 0.0),
        members=(),
        size=int(read_number(node.fields.get("cluster_size"), 0)),
        domain=text("domain"),
        strategy=text("strategy"),
        tenant=node.tenant,
    )
