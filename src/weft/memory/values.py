"""Values: what many experiences have in common on one axis, told by the one in their middle."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from math import log2
from typing import TYPE_CHECKING, Final

from weft.errors import MissingExtra
from weft.frozen import dataclass
from weft.memory.experiences import Experience
from weft.memory.memories import number
from weft.memory.vocabulary import VALUE
from weft.model import DEFAULT_TENANT, Json, Node, Origin

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


_FEWEST: Final = 3
_DENSE: Final = 2
_DIRECTIONS: Final = 24
"""Many experiences are compared in so few directions: trees are of no use among hundreds."""
_MANY: Final = 2_000
_MAJORITY: Final = 0.5
_TIER_WEIGHT: Final = {"gold": 1.0, "silver": 0.8, "bronze": 0.5, "abandoned": 0.2}


@dataclass(frozen=True, slots=True)
class Value:
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
        """The key of its node: a value is the same as long as the same experience stands in its middle."""
        return f"{VALUE}:{self.axis}/{self.exemplar}"


def emerging(axis: str, experiences: Sequence[Experience], vectors: "Floats") -> tuple[Value, ...]:
    """The values of an axis, the largest first; `vectors` has a unit row for each experience, or one of zeros."""
    known = sorted(range(len(experiences)), key=lambda place: experiences[place].id)
    known = [place for place in known if vectors[place].any()]
    if len(known) < _FEWEST:
        return ()
    told, points = [experiences[place] for place in known], vectors[known]
    clusters: dict[int, list[int]] = {}
    for place, label in enumerate(_labels(points)):
        if label >= 0:
            clusters.setdefault(label, []).append(place)
    found = [_value(axis, [told[place] for place in mine], points[mine]) for mine in clusters.values()]
    found.sort(key=lambda value: (-value.size, value.exemplar))
    return tuple(_numbered(value, place) for place, value in enumerate(found, start=1))


def value_node(value: Value) -> Node:
    """The node that holds a value."""
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
        fields={name: told for name, told in fields.items() if told != ""},
        origin=Origin(VALUE),
    )


def value_of(node: Node) -> Value:
    """The value that a node holds, without its members, which its links lead to."""

    def text(name: str) -> str:
        return str(node.fields.get(name) or "")

    return Value(
        axis=text("axis"),
        cluster_id=text("cluster_id"),
        text=node.text,
        exemplar=text("exemplar"),
        similarity=number(node.fields.get("similarity_to_centroid"), 0.0),
        members=(),
        size=int(number(node.fields.get("cluster_size"), 0)),
        domain=text("domain"),
        strategy=text("strategy"),
        tenant=node.tenant,
    )


def _labels(points: "Floats") -> list[int]:
    """The cluster of each point, -1 for none; the same for the same points."""
    try:
        from sklearn.cluster import HDBSCAN
        from sklearn.decomposition import PCA
    except ModuleNotFoundError as error:
        raise MissingExtra("Finding values", "values") from error
    import numpy as np

    if len(points) > _MANY and points.shape[1] > _DIRECTIONS:
        points = np.round(PCA(_DIRECTIONS, svd_solver="covariance_eigh").fit_transform(points), 6)
    fewest = max(_FEWEST, int(log2(len(points))))
    found = HDBSCAN(min_cluster_size=fewest, min_samples=_DENSE, copy=True).fit(points)
    return [int(label) for label in found.labels_]


def _value(axis: str, members: Sequence[Experience], points: "Floats") -> Value:
    """The value of one cluster: what is known better pulls its centre nearer."""
    import numpy as np

    weights = np.array([_TIER_WEIGHT.get(member.tier, _TIER_WEIGHT["bronze"]) for member in members])
    centre = weights @ points
    centre /= np.linalg.norm(centre) or 1.0
    near = np.round(points @ centre, 6).tolist()
    ranked = sorted(zip(near, members, strict=True), key=lambda each: (-each[0], each[1].id))
    similarity, exemplar = ranked[0]
    return Value(
        axis=axis,
        cluster_id="",
        text=_statement(axis, exemplar),
        exemplar=exemplar.id,
        similarity=similarity,
        members=tuple((member.id, each) for each, member in ranked),
        size=len(members),
        domain=_usual([member.domain for member in members]),
        strategy=_usual([member.strategy for member in members]),
        tenant=exemplar.tenant,
    )


def _numbered(value: Value, place: int) -> Value:
    return replace(value, cluster_id=f"{value.axis}-{place}")


def _usual(words: Sequence[str]) -> str:
    """The word that most of the members share, or nothing."""
    word, times = min(Counter(words).items(), key=lambda each: (-each[1], each[0]))
    return word if times > _MAJORITY * len(words) else ""


def _statement(axis: str, told: Experience) -> str:
    """What the experience in the middle of a cluster says on the axis."""
    if axis == "surprise":
        return told.surprise
    if axis == "root_cause" and told.root_cause is not None:
        return f"{told.root_cause.category}: {told.root_cause.description}".removesuffix(": ")
    lesson = told.lesson
    taken = (lesson.takeaway or lesson.what_worked) if lesson else ""
    return taken or f"{told.strategy} in {told.domain} was {told.status}: {told.result}".removesuffix(": ")
