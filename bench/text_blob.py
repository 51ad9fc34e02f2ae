"""Tokens and evidence of a narrative page beside the blob of texts that it replaces.

python -m bench.text_blob DIR [--limit 200] [--fall 0.8]

DIR is a judged set whose documents are sections of stories, the story's id in `meta.scope` and its name in
`meta.story` of each question (FairytaleQA). The blob is what the narrative design tells of the state before it:
stories in chunks of 9 000 characters, the 15 that match best, one after another, whole. The page may cost a fifth
of that, or what --fall leaves. A gold section counts for the page where it stands there whole, or in an excerpt
that holds the answer, and for the blob where all of its sentences stand there but one, which the end of a chunk
may have cut.
"""

import argparse
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from weft import Node, Weft
from weft.evaluation import JudgedSet, Question, read_folder
from weft.evaluation.run import find_evidence
from weft.text import split_sentences
from weft.tokens import counter_for

CHUNK = 9_000
CHUNKS = 15
COUNT, _ = counter_for("cl100k_base")


@dataclass(frozen=True)
class Measured:
    """The cost and the finds of one question, as a blob and as a page."""

    blob_tokens: int
    page_tokens: int
    blob_found: float
    page_found: float


def main() -> None:
    """Print the means as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--limit", type=int, default=200, help="how many questions, spread over the set")
    parser.add_argument("--fall", type=float, default=0.8, help="how much less than the blob the page may cost")
    given = parser.parse_args()
    judged = read_folder(given.folder)
    with tempfile.TemporaryDirectory() as folder, Weft.open(Path(folder) / ".weft") as weft:
        texts = {document.id: str(document.record.get("text") or "") for document in judged.documents}
        weft.index(given.folder / "corpus.jsonl", source="sections", tenant="sections")
        weft.put(chunks(judged))
        every = max(len(judged.questions) // given.limit, 1)
        asked = judged.questions[::every][: given.limit]
        print(json.dumps(summary([measure(weft, each, judged, texts, given.fall) for each in asked]), indent=2))


def chunks(judged: JudgedSet) -> list[Node]:
    """Return the stories in chunks, each story from its beginning."""
    stories: dict[str, list[str]] = {}
    titles: dict[str, str] = {}
    for document in judged.documents:
        story = document.id.rpartition("#")[0]
        stories.setdefault(story, []).append(str(document.record.get("text") or ""))
        titles[story] = str(document.record.get("title") or story)
    return [
        Node(f"blob:{story}#{start}", "chunk", "chunks", title=titles[story], text=text[start : start + CHUNK])
        for story, parts in stories.items()
        for text in ["\n\n".join(parts)]
        for start in range(0, len(text), CHUNK)
    ]


def measure(weft: Weft, question: Question, judged: JudgedSet, texts: Mapping[str, str], fall: float) -> Measured:
    """Measure one question, asked with the name of its story."""
    asked = f"{question.meta.get('story', '')} {question.text}".strip()
    gold = {f"sections:{each}": texts[each] for each, grade in judged.gold[question.id].items() if grade > 0}
    found = weft.search(asked, limit=CHUNKS, tenants=("chunks",)).candidates
    blob = "DOCUMENTS:\n" + "\n".join(f"- [chunk] {each.node.title}: {each.node.text}" for each in found)
    spent = COUNT.count(blob)
    room = max(int(spent * (1 - fall)), 1)
    page = weft.context(asked, profile="narrative", max_tokens=room, tenants=("sections",))
    return Measured(
        blob_tokens=spent,
        page_tokens=page.tokens,
        blob_found=_share([_holds(_plain(blob), text) for text in gold.values()]),
        page_found=_share([key in find_evidence(page, question.answers, gold) for key in gold]),
    )


def summary(rows: Sequence[Measured]) -> dict[str, float]:
    """Return the means over all questions."""
    blob, page = mean(row.blob_tokens for row in rows), mean(row.page_tokens for row in rows)
    return {
        "questions": len(rows),
        "blob_tokens": round(blob),
        "page_tokens": round(page),
        "fewer_tokens": round(1 - page / blob, 4),
        "blob_evidence": round(mean(row.blob_found for row in rows), 4),
        "page_evidence": round(mean(row.page_found for row in rows), 4),
    }


def _share(found: Sequence[bool]) -> float:
    return sum(found) / max(len(found), 1)


def _holds(blob: str, text: str) -> bool:
    missing = [1 for start, end in split_sentences(text) if _plain(text[start:end]) not in blob]
    return len(missing) <= 1


def _plain(text: str) -> str:
    return "".join(character for character in text if character.isalnum())


if __name__ == "__main__":
    main()
