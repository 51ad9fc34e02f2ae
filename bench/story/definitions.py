"""`python -m bench.story.definitions DATA [NOVEL...]`: do the sentences that define the leads say who they are?

DATA is the folder `data` of github.com/Priya22/project-dialogism-novel-corpus. A definition defines if the passage
of the entity that bears the lead's name holds a word of rank, kinship or profession that definitions.toml lists
for that person.
"""

import re
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from bench.story.measure import proses_of
from weft.story import Prose, Story, describe_kin, extract_story, name_key

_LISTS: Final = Path(__file__).with_name("definitions.toml")


def find_definitions(proses: Sequence[Prose], story: Story, names: Sequence[str]) -> dict[str, str]:
    """Return the passage that defines each lead, in one line, or "" for one who is no entity."""
    found = dict.fromkeys(names, "")
    kin = describe_kin(story)
    for lead in names:
        keys = set(map(name_key, lead.split("|")))
        for index, entity in enumerate(story.entities):
            if keys & set(map(name_key, (entity.name, *entity.aliases))):
                place = entity.definition
                quoted = " ".join(proses[place.prose].text[place.start : place.end].split())
                found[lead] = f"{quoted} {kin.get(index, '')}"
                break
    return found


def count_defined(definitions: Mapping[str, str], listed: Mapping[str, str]) -> list[str]:
    """Return the leads whose definition says who they are."""
    return [lead for lead, text in definitions.items() if re.search(rf"\b(?:{listed[lead]})", text, re.IGNORECASE)]


def main(data: Path, novels: Sequence[str]) -> None:
    """Print a row for each novel and half, and each definition on standard error."""
    halves: dict[str, tuple[int, int]] = {}
    print("| novel | definitions that define |\n|---|---|")
    for novel, listed in tomllib.loads(_LISTS.read_text("utf-8")).items():
        if novels and novel not in novels:
            continue
        half = listed.pop("half")
        proses = proses_of((data / novel / "novel_text.txt").read_text("utf-8", errors="replace"))
        found = find_definitions(proses, extract_story(proses), list(listed))
        defined = count_defined(found, listed)
        good, all_leads = halves.get(half, (0, 0))
        halves[half] = (good + len(defined), all_leads + len(listed))
        print(f"| {novel} | {len(defined)} of {len(listed)} |")
        for lead, text in found.items():
            print(f"  {'yes' if lead in defined else 'no '} {lead}: {text}", file=sys.stderr)
    for half, (good, all_leads) in halves.items():
        print(f"| all, {half} | {good} of {all_leads} ({good / all_leads:.0%}) |")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
