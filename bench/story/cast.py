"""`python -m bench.story.cast FOLDER [NOVEL...]`: characters of novels against lists.

FOLDER is the folder `data` of github.com/Priya22/project-dialogism-novel-corpus, which has lists of its own, or
`original` of github.com/dbamman/litbank, for whose novels casts.toml has lists. A character is found if an entity
has one of its names, and clean if just one entity has and none of that entity's names is another character's.
Names that stand once in a book, and names by role (the, his, mother), are left out.
"""

import ast
import csv
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bench.story.measure import proses_of
from weft.story import Entity, extract_story

_LISTS: Final = Path(__file__).with_name("casts.toml")
_LISTED: Final = 50
"""As many entities as `weft entities list` prints."""
_BY_ROLE: Final = re.compile(r"(?:the|a|an|her|his|my|one|another|some|old man|mother|father)\b", re.IGNORECASE)
_NOT_A_LETTER: Final = re.compile(r"[^a-z0-9 ]")


@dataclass
class Counts:
    """The numbers expected and found, over one novel or several."""

    expected: int = 0
    found: int = 0
    clean: int = 0
    names: int = 0
    right: int = 0
    own: int = 0
    foreign: int = 0
    problems: list[str] = field(default_factory=list)

    def add(self, other: "Counts") -> None:
        """Add the counts of another novel."""
        for name in ("expected", "found", "clean", "names", "right", "own", "foreign"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def row(self, title: str) -> str:
        """Return the counts as a row of a Markdown table."""
        return (
            f"| {title} | {self.found} of {self.expected} | {self.clean / self.expected:.0%} "
            f"| {self.right / self.names:.0%} | {self.own / max(1, self.own + self.foreign):.0%} |"
        )


@dataclass(frozen=True)
class Expected:
    """A character of the gold list; names are plain."""

    name: str
    names: frozenset[str]
    wanted: frozenset[str]


def measure_listed(folder: Path) -> Counts:
    """Return how well the characters of a novel with a list of its own are found."""
    text = (folder / "novel_text.txt").read_text(encoding="utf-8", errors="replace")
    return measure(text, list(_read_characters(folder / "character_info.csv", " ".join(text.split()))))


def measure(text: str, characters: Sequence["Expected"]) -> Counts:
    """Return how well the characters of one novel are found."""
    story = extract_story(proses_of(text))
    listed = sorted(story.entities, key=lambda each: (-len({one.prose for one in each.mentions}), each.name))
    entities = [_names_of(entity) for entity in listed[:_LISTED]]
    owners: dict[str, set[str]] = {}
    for character in characters:
        for name in character.names:
            owners.setdefault(name, set()).add(character.name)
    counts = Counts()
    for character in characters:
        if character.wanted:
            _count(character, entities, owners, counts)
    return counts


def _count(
    character: Expected, entities: Sequence[frozenset[str]], owners: dict[str, set[str]], counts: Counts
) -> None:
    counts.expected += 1
    counts.names += len(character.wanted)
    hits = [names for names in entities if names & character.wanted]
    if not hits:
        counts.problems.append(f"{character.name}: not found")
        return
    best = max(hits, key=lambda names: len(names & character.wanted))
    foreign = [name for name in best if name in owners and character.name not in owners[name]]
    counts.found += 1
    counts.right += len(best & character.wanted)
    counts.own += sum(character.name in owners.get(name, ()) for name in best)
    counts.foreign += len(foreign)
    counts.clean += len(hits) == 1 and not foreign
    if len(hits) > 1 or foreign:
        counts.problems.append(f"{character.name}: {len(hits)} entities; names of others: {sorted(foreign)}")


def _read_characters(file: Path, text: str) -> Iterator[Expected]:
    """Yield the characters of a list; only those of some weight have names that are wanted."""
    with file.open(encoding="utf-8", newline="") as opened:
        for row in csv.DictReader(opened):
            names = {row["Main Name"], *ast.literal_eval(row["Aliases"] or "set()")}
            is_of_weight = row["Category"] in ("major", "intermediate")
            yield _expect(row["Main Name"], names, text if is_of_weight else "")


def read_casts(lines: Iterable[str], text: str) -> Iterator[Expected]:
    """Yield the characters of a list of ours: `Jane Eyre|Jane|Miss Eyre`."""
    plain = " ".join(text.split()).replace("’", "'")
    for line in lines:
        name, *others = line.split("|")
        yield _expect(name, {name, *others}, plain)


def _expect(main: str, names: Iterable[str], text: str) -> Expected:
    """Return a character with the names that are wanted: those that the text uses more than once."""
    used = {name for name in names if len(re.findall(rf"\b{re.escape(name)}\b", text)) > 1}
    wanted = {_plain(name) for name in used if not _BY_ROLE.match(name)} or ({_plain(main)} if text else set())
    return Expected(main, frozenset(map(_plain, names)), frozenset(wanted))


def _names_of(entity: Entity) -> frozenset[str]:
    return frozenset(map(_plain, (entity.name, *entity.aliases)))


def _plain(name: str) -> str:
    return _NOT_A_LETTER.sub("", name.lower().replace("-", " ")).strip()


def main(folder: Path, novels: Sequence[str]) -> None:
    """Print a row for each novel, and one for each half of the lists."""
    halves: dict[str, Counts] = {}
    print("| novel | found | one clean entity | names found | names right |\n|---|---|---|---|---|")
    for novel, half, counted in _measure_all(folder, novels):
        halves.setdefault(half, Counts()).add(counted)
        print(counted.row(novel), flush=True)
        # What a half for checking misses is not to be known.
        for problem in counted.problems if half != "check" else ():
            print(f"  {problem}", file=sys.stderr)
    for half, counts in halves.items():
        print(counts.row(f"all, {half}"))


def _measure_all(folder: Path, novels: Sequence[str]) -> Iterator[tuple[str, str, Counts]]:
    """Yield each novel with the half that it belongs to and its counts."""
    for novel, listed in tomllib.loads(_LISTS.read_text("utf-8")).items():
        file = folder / f"{novel}.txt"
        if file.exists() and (not novels or novel in novels):
            text = file.read_text("utf-8", errors="replace")
            yield novel, listed["half"], measure(text, list(read_casts(listed["characters"], text)))
    for novel in novels:
        if (folder / novel).is_dir():
            yield novel, "corpus", measure_listed(folder / novel)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
