"""A large learning memory: memories, experiences on four axes, commits and code, all of real sentences."""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice

from weft.memory import (
    CATEGORIES,
    DOMAINS,
    OUTCOMES,
    ROOT_CAUSES,
    STRATEGIES,
    Lesson,
    Outcome,
    RootCause,
    apply_outcome,
    experience_nodes,
    memory_node,
    new_experience,
    new_memory,
)
from weft.model import DEFAULT_TENANT, Node, Origin
from weft.ports import Unit

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SEED = 20_004
UNIT = 1_000
"""Nodes that are read at once."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much of each there is."""

    memories: int = 50_000
    experiences: int = 20_000
    commits: int = 50_000
    code: int = 50_000

    def __str__(self) -> str:
        return f"{self.memories}-{self.experiences}-{self.commits}-{self.code}"


@dataclass(frozen=True, slots=True)
class LearningWorld:
    """A source that makes the nodes as it is read, the same ones every time."""

    sizes: Sizes
    sentences: Sequence[str]
    name: str = "world"

    @property
    def maker(self) -> str:
        """The maker of the edges."""
        return f"source:{self.name}@1"

    def identity(self) -> str:
        """Return the same identity every time."""
        return f"{self.name} {self.sizes}"

    def units(self) -> Iterable[tuple[str, str]]:
        """Return one unit for every thousand things."""
        for kind in ("memories", "experiences", "commits", "code"):
            yield from ((f"{kind} {at}", str(self.sizes)) for at in range(0, getattr(self.sizes, kind), UNIT))

    def read(self, unit: str) -> Unit:
        """Return the nodes of one unit."""
        kind, start = unit.split()
        last = min(int(start) + UNIT, getattr(self.sizes, kind))
        made = (node for number in range(int(start), last) for node in self._nodes(kind, number))
        return Unit(unit, str(self.sizes), tuple(made))

    def _nodes(self, kind: str, number: int) -> Iterator[Node]:
        pick = random.Random(f"{SEED} {kind} {number}")
        said = [pick.choice(self.sentences) for _ in range(6)]
        at = NOW - timedelta(hours=pick.randrange(20_000))
        if kind == "memories":
            text = f"{said[0]} {said[1]}" if number % 3 else said[0]
            yield memory_node(
                new_memory(text, pick.choice(CATEGORIES), round(pick.random(), 2), (), DEFAULT_TENANT, at)
            )
        elif kind == "experiences":
            yield from _experience(pick, said, at)
        else:
            yield _commit(pick, said, at, number) if kind == "commits" else _function(said, number)


def _experience(pick: random.Random, said: Sequence[str], at: datetime) -> tuple[Node, ...]:
    words = {name: said[index][:160] for index, name in enumerate(("goal", "hypothesis", "action", "prediction"))}
    started = new_experience(domain=pick.choice(DOMAINS), strategy=pick.choice(STRATEGIES), now=at, **words)
    cause = RootCause(pick.choice(ROOT_CAUSES), said[5][:200])
    outcome = Outcome(
        pick.choice(OUTCOMES), said[4][:120], said[3][:200], cause, Lesson(said[5][:160]), pick.random() < 0.3
    )
    return experience_nodes(apply_outcome(started, outcome, at + timedelta(hours=1)))


def _commit(pick: random.Random, said: Sequence[str], at: datetime, number: int) -> Node:
    files = [f"src/part{pick.randrange(400)}/file{pick.randrange(2_000)}.py" for _ in range(pick.randint(1, 5))]
    sha = f"{pick.getrandbits(160):040x}"
    return Node(
        key=f"git:{sha}",
        kind="commit",
        title=said[0][:70],
        text=f"{said[0]}\n\n{said[1]}",
        fields={
            "sha": sha,
            "author": f"Author {number % 60}",
            "timestamp": at.isoformat(),
            "files_changed": files,
        },
        origin=Origin("git", commit=sha),
        created=at,
        modified=at,
    )


def _function(said: Sequence[str], number: int) -> Node:
    words = [word.strip(".,:;()'\"`").lower() for word in said[0].split()]
    name = "_".join(list(islice((word for word in words if word.isidentifier()), 3)) or ["work"])
    signature = f"def {name}(part{number % 9}: str) -> int"
    return Node(
        key=f"repo:src/file{number % 2_000}.py#{name}_{number}",
        kind="function",
        title=f"{name}_{number}",
        summary=said[1],
        text=f"{signature}:\n    # {said[2]}\n    return len(part{number % 9})",
        language="python",
        fields={"signature": signature},
        origin=Origin("repo", f"src/file{number % 2_000}.py", number % 900, number % 900 + 3),
    )
