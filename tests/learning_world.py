"""A searcher with results in memory, and small results of every source, for tests of what was learned."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

TYPES = ("memories", "code", "experiences", "values", "commits")


def memory(number: int, content: str = "", score: float = 0.9, **more: object) -> dict[str, Any]:
    result = content or f"Memory {number}: the {NOUNS[number % len(NOUNS)]} must be restarted on day {number}"
    return {"id": f"m{number}", "content": result, "category": "fact", "importance": 0.5, "score": score, **more}


def code(number: int, file: str = "src/app.py", score: float = 0.8, **more: object) -> dict[str, Any]:
    return {
        "id": f"c{number}",
        "unit_type": "function",
        "name": f"load_{NOUNS[number % len(NOUNS)]}",
        "qualified_name": f"app.load_{number}",
        "file_path": file,
        "start_line": 10 * number + 1,
        "end_line": 10 * number + 8,
        "language": "python",
        "signature": f"def load_{NOUNS[number % len(NOUNS)]}(path: str, part{number}: int) -> bytes:",
        "docstring": f"Read the {NOUNS[number % len(NOUNS)]} from disk.",
        "score": score,
        **more,
    }


def experience(number: int, score: float = 0.7, **more: object) -> dict[str, Any]:
    noun = NOUNS[number % len(NOUNS)]
    return {
        "id": f"e{number}",
        "axis": "full",
        "domain": "debugging",
        "strategy": "read-the-error",
        "goal": f"Make the {noun} start",
        "hypothesis": f"The {noun} waits for port {9000 + number}",
        "action": f"Open port {9000 + number}",
        "prediction": f"The {noun} logs ready",
        "outcome_status": "falsified",
        "outcome_result": f"The {noun} still hangs",
        "surprise": f"Its clock was {number + 1} hours off",
        "lesson": {"what_worked": f"Setting the clock of the {noun}"},
        "root_cause": {"category": "environment-issue", "description": f"Clock drift on {noun}"},
        "confidence_tier": "silver",
        "iteration_count": 2,
        "score": score,
        **more,
    }


def value(number: int, score: float = 0.6, **more: object) -> dict[str, Any]:
    return {
        "id": f"v{number}",
        "axis": "root_cause",
        "cluster_id": f"root_cause-{number}",
        "cluster_size": 4 + number,
        "text": f"Look at the {NOUNS[number % len(NOUNS)]} before blaming the network.",
        "similarity_to_centroid": 0.9,
        "score": score,
        **more,
    }


def commit(number: int, score: float = 0.5, **more: object) -> dict[str, Any]:
    return {
        "sha": f"{number:040x}",
        "author": "Lotte",
        "timestamp": "2026-02-20T10:00:00+00:00",
        "message": f"Start the {NOUNS[number % len(NOUNS)]} before the workers\n\nOtherwise they wait.",
        "files_changed": [f"src/{NOUNS[number % len(NOUNS)]}.py", "README.md"],
        "insertions": 12,
        "deletions": 3,
        "score": score,
        **more,
    }


NOUNS = (
    "broker cache index ledger mailer proxy queue router scheduler tracker uploader worker".split()  # noqa: SIM905
)


@dataclass
class FakeSearcher:
    """Answers from lists, and writes down what it was asked."""

    memories: Sequence[Any] = ()
    code: Sequence[Any] = ()
    experiences: Sequence[Any] | Callable[..., Any] = ()
    values: Sequence[Any] = ()
    commits: Sequence[Any] = ()
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    async def search_memories(self, query: str, limit: int) -> Sequence[Any]:
        return self._answer("memories", query=query, limit=limit)

    def search_code(self, query: str, limit: int) -> Sequence[Any]:
        return self._answer("code", query=query, limit=limit)

    def search_experiences(self, query: str, **more: Any) -> Sequence[Any]:
        return self._answer("experiences", query=query, **more)

    def search_values(self, query: str, limit: int) -> Sequence[Any]:
        return self._answer("values", query=query, limit=limit)

    async def search_commits(self, query: str, limit: int) -> Sequence[Any]:
        return self._answer("commits", query=query, limit=limit)

    def _answer(self, name: str, **asked: Any) -> Any:
        self.asked.append((name, asked))
        found = getattr(self, name)
        if isinstance(found, Exception):
            raise found
        return found(**asked) if callable(found) else found


def full_searcher(each: int = 3) -> FakeSearcher:
    """A searcher with some results of every source, no two of them about the same."""
    return FakeSearcher(
        memories=[memory(number, score=0.9 - 0.01 * number) for number in range(each)],
        code=[code(number + 3, f"src/file{number}.py", score=0.8 - 0.01 * number) for number in range(each)],
        experiences=[experience(number + 6, score=0.7 - 0.01 * number) for number in range(each)],
        values=[value(number, score=0.6 - 0.01 * number) for number in range(each)],
        commits=[commit(number, score=0.5 - 0.01 * number) for number in range(each)],
    )
