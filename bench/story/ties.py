"""`python -m bench.story.ties DATA [NOVEL...]`: ties between people against what a reader would list (ties.toml).

DATA is the folder `data` of github.com/Priya22/project-dialogism-novel-corpus. Found are the listed ties of the
leads; true are the stated ones that the list holds, whether of leads or not. A tie that is not listed counts as
false, also where one of the two is nobody of the list. A tie is also found where two names of one person are two
entities.
"""

import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any, Final

from bench.story.measure import proses_of
from weft.story import Entity, Prose, Story, Tie, extract_story, name_key

_LISTS: Final = Path(__file__).with_name("ties.toml")
_PERSONAL: Final = frozenset({"spouse", "betrothed", "parent", "sibling", "relative", "friend", "enemy", "serves"})
_DIRECTED: Final = frozenset({"parent", "serves"})
_ALSO_TRUE: Final = {"betrothed": "spouse"}
"""A couple that marries in the end is engaged before, so the weaker tie is true wherever the stronger is."""

Pair = tuple[str, str, str]
"""The type of a tie and its two people; sorted unless it has a direction."""


@dataclass
class Counts:
    """The numbers expected and found, over one novel or several."""

    expected: int = 0
    found: int = 0
    stated: int = 0
    true: int = 0
    problems: list[str] = field(default_factory=list)

    def add(self, other: "Counts") -> None:
        """Add the counts of another novel."""
        for name in ("expected", "found", "stated", "true"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def row(self, title: str) -> str:
        """Return the counts as a row of a Markdown table."""
        return (
            f"| {title} | {self.true} of {self.stated} ({self.true / max(1, self.stated):.0%}) "
            f"| {self.found} of {self.expected} ({self.found / max(1, self.expected):.0%}) |"
        )


def measure(proses: Sequence[Prose], story: Story, listed: Mapping[str, Any]) -> Counts:
    """Return how many of the stated ties are true, and how many of the leads' ties are stated."""
    expected, also = _read_list(listed)
    people = {person for pair in (*expected, *also) for person in pair[1:]}
    owner = {name_key(name): person for person in people for name in person.split("|")}
    counts = Counts()
    found: set[Pair] = set()
    for tie in story.ties:
        if tie.type not in _PERSONAL:
            continue
        source, target = (_who(story.entities[index], owner) for index in (tie.source, tie.target))
        pair = _pair(tie.type, source, target)
        stronger = _pair(_ALSO_TRUE.get(tie.type, tie.type), source, target)
        counts.stated += 1
        if pair in expected or pair in also or stronger in expected or stronger in also:
            counts.true += 1
            found.add(pair)
        else:
            counts.problems.append(f"not listed: {_describe(proses, story, tie)}")
    leads = set(listed["leads"])
    wanted = {pair for pair in expected if leads & set(pair[1:])}
    counts.expected, counts.found = len(wanted), len(wanted & found)
    counts.problems += [f"not found: {', '.join(pair)}" for pair in sorted(wanted - found)]
    return counts


def _read_list(listed: Mapping[str, Any]) -> tuple[set[Pair], set[Pair]]:
    """Return the ties that a reader lists, and those that are true as well."""
    expected = set(map(_parse, listed["ties"]))
    for family in listed["families"]:
        expected.update(_of_family(family["parents"], family["children"]))
    return expected, set(map(_parse, listed["also"]))


def _of_family(parents: Sequence[str], children: Sequence[str]) -> Iterator[Pair]:
    yield from (_pair("spouse", *couple) for couple in combinations(parents, 2))
    yield from (_pair("sibling", *two) for two in combinations(children, 2))
    yield from (_pair("parent", parent, child) for parent in parents for child in children)


def _parse(line: str) -> Pair:
    kind, _, people = line.partition(": ")
    source, target = people.split(", ")
    return _pair(kind, source, target)


def _pair(kind: str, source: str, target: str) -> Pair:
    return (kind, source, target) if kind in _DIRECTED or source <= target else (kind, target, source)


def _who(entity: Entity, owner: Mapping[str, str]) -> str:
    """Return the person of the list that an entity is, by its commonest listed name, or its own name."""
    names = (owner.get(name_key(name)) for name in (entity.name, *entity.aliases))
    return next((name for name in names if name), entity.name)


def _describe(proses: Sequence[Prose], story: Story, tie: Tie) -> str:
    passage = tie.evidence[0]
    quote = " ".join(proses[passage.prose].text[max(0, passage.start - 40) : passage.end + 40].split())
    return f"{tie.type}: {story.entities[tie.source].name}, {story.entities[tie.target].name}: {quote}"


def main(data: Path, novels: Sequence[str]) -> None:
    """Print a row for each novel, and one for each half of the list."""
    halves: dict[str, Counts] = {}
    print("| novel | stated ties that are true | ties of the leads that are stated |\n|---|---|---|")
    for novel, listed in tomllib.loads(_LISTS.read_text("utf-8")).items():
        if novels and novel not in novels:
            continue
        proses = proses_of((data / novel / "novel_text.txt").read_text("utf-8", errors="replace"))
        counted = measure(proses, extract_story(proses), listed)
        halves.setdefault(listed["half"], Counts()).add(counted)
        print(counted.row(novel))
        for problem in counted.problems:
            print(f"  {problem}", file=sys.stderr)
    for half, counts in halves.items():
        print(counts.row(f"all, {half}"))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
