"""Find the commits that a question asks for: by their words, by their hashes, or by what they changed last."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from msgspec.structs import replace

from weft.model import Candidate, Filter, Node
from weft.pipeline.by_symbol import find_definitions, rows_with_word
from weft.pipeline.folders import Folder
from weft.pipeline.outline import OUTLINED_KINDS, describe_change, find_members
from weft.pipeline.plan import Plan
from weft.pipeline.query import Query, Reading, understand
from weft.pipeline.retrieve import search
from weft.pipeline.score import is_sample
from weft.pipeline.shape_phrases import Shape
from weft.pipeline.shapes import CODE_KINDS, COMMIT, DEFINITION_KINDS, Shapes, Span, Wanted
from weft.ports import NodeRow
from weft.profiles.types import Probe
from weft.scoring.bm25 import term_hashes
from weft.text import analyze

_MAX_COMMITS: Final = 6
_MAX_COMMIT_CHARS: Final = 500
"""Characters of a commit's message that are shown: the subject, and why."""
_MAX_RECENT: Final = 8
_MAX_TOUCHING: Final = 100_000
"""Links of a file or a definition among which the newest commits are sought: more than any has in practice."""
_MAX_SCANNED_COMMITS: Final = 50_000
"""Commits that are compared with the beginning of a hash; a store keeps no more of one repository."""
_SCAN_BATCH: Final = 2_000
_KEY_DIGITS: Final = 12
"""Digits of a hash that the key of a commit holds."""
_TOPIC_SHARE: Final = 0.6
"""A commit that matches a topic less well than this share of the best is not one of its changes."""
_SUBJECT: Final = 0.4
"""The amount that the subject of a commit adds if it has all words of the question."""
_ASKS_BEGINNING: Final = re.compile(
    r"(?i)\b(?:add(?:s|ed)?|introduc(?:es?|ed)|creat(?:es?|ed)|written|begun|arrived?|appear(?:s|ed)?)\b"
)
"""A question about the history of something that asks when it came to be."""
_MAX_USING: Final = 60
"""Passages that are looked at for the file that uses a name most."""
_ALONE: Final = 0.5
"""How much more a subject adds that says nothing else: "Add progress bars" is where they were added."""
_HISTORY_WORDS: Final = re.compile(
    r"(?i)\b(?:which|what|who|when|why|commits?|pull requests?|prs?|introduced?|releases?|versions?|first|since"
    r"|was|did)\b"
)
_TRAILERS: Final = re.compile(r"(?:\s*\n(?:[A-Z][\w-]+-[Bb]y: .*|\(cherry picked from commit [0-9a-f]+\)|\s*))+\Z")
"""Lines at the end of a message that name people and other commits, and say nothing about the change."""


def find_history(plan: Plan, query: Query, reading: Reading, *, releases: bool) -> Iterator[Wanted]:
    """Yield the commits that match the words of the question, newest first where they match alike.

    With `releases`, each is marked with the first release that has it.
    """
    if COMMIT not in reading.snapshot.kinds():
        return
    # "Which commit introduced" is in many messages, and says nothing about what was introduced.
    words = _HISTORY_WORDS.sub(" ", query.text)
    query = understand(words, reading.snapshot, reading.embedder) if words.split() else query
    found, worth = _search_commits(plan, query, reading)
    ranked = sorted(found, key=lambda one: (-round(worth[one.node.id], 2), -_time(one.node), one.node.key))
    stored = reading.snapshot.nodes([one.node.id for one in ranked[:_MAX_COMMITS]])
    tags = _name_releases([row.node for row in stored.values()], reading) if releases else {}
    for rank, (one, row) in enumerate(zip(ranked, stored.values(), strict=False)):
        value = 0.9 * min(worth[one.node.id], 1.0) - 0.001 * rank
        mark = f"first released in {tags[row.node.id]}" if row.node.id in tags else ""
        yield Wanted(row, Shape.HISTORY, max(value, 0.0), message_part(row.node), mark=mark)


def find_first(question: str, names: Sequence[str], reading: Reading, *, releases: bool) -> Iterator[Wanted]:
    """Yield the commit that first wrote the lines of each named definition, if a question asks for that."""
    for name in names if _ASKS_BEGINNING.search(question) else ():
        for definition in find_definitions(name, reading)[:1]:
            commits = [row for row, _ in commits_of([definition.node], reading)]
            for row in commits[-1:]:
                tags = _name_releases([row.node], reading) if releases else {}
                mark = f"the {_word_for_first(row.node, reading)} of {definition.node.title}"
                mark += f", released in {tags[row.node.id]}" if row.node.id in tags else ""
                yield Wanted(row, Shape.HISTORY, 1.0, message_part(row.node), mark=mark)


def _word_for_first(commit: Node, reading: Reading) -> str:
    """Return what the oldest commit of something is called: in a shallow clone it may not be the first."""
    shallow = reading.repositories.list_shallow([commit.tenant]) if reading.repositories else ()
    return "oldest commit in this shallow clone" if commit.origin.source in shallow else "first commit"


def find_changes_of(question: str, names: Sequence[str], reading: Reading) -> Iterator[Wanted]:
    """Yield the newest commits that changed lines with a name that nothing is defined by, such as an option.

    A question that asks when the name came gets the oldest of them first.
    """
    asks_beginning = _ASKS_BEGINNING.search(question) is not None
    for name in names:
        if find_definitions(name, reading):
            continue
        uses = [
            row.node for row in rows_with_word(name, CODE_KINDS, _MAX_USING, reading) if not is_sample(row.node)
        ]
        files = Counter(node.origin.file for node in uses)
        # The file that uses it most is where it does something.
        using = sorted(uses, key=lambda node: (-files[node.origin.file], node.key))[:1]
        commits = [row for node in using for row in _list_by_git(node, reading, name)]
        # The oldest commit brought the name, and what was fixed or changed was there before.
        changes = [*(commits[-1:] if asks_beginning else ()), *commits[:-1]]
        for rank, row in enumerate(changes[:_MAX_RECENT]):
            yield Wanted(row, Shape.HISTORY, 1.0 - 0.03 * rank, (0, len(row.node.title)))


def find_recent_about(topic: str, plan: Plan, reading: Reading) -> Iterator[Wanted]:
    """Yield the newest of the commits that match the words of a topic nearly as well as the best does.

    Of a topic with words that the store has never seen, it holds no changes.
    """
    query = understand(topic, reading.snapshot, reading.embedder)
    if not all(query.statistics.frequency.get(term) for term in query.term_weights()):
        return
    found, worth = _search_commits(plan, query, reading)
    least = _TOPIC_SHARE * max(worth.values(), default=0.0)
    stored = reading.snapshot.nodes([one.node.id for one in found if worth[one.node.id] >= least])
    for rank, row in enumerate(sorted(stored.values(), key=newest_first)[:_MAX_RECENT]):
        yield Wanted(row, Shape.RECENT, 1.0 - 0.05 * rank, message_part(row.node))


def find_recent_in(folder: Folder, reading: Reading) -> Iterator[Wanted]:
    """Yield the newest commits that changed something in a folder."""
    for rank, row in enumerate(commits_in(folder, reading)[:_MAX_RECENT]):
        yield Wanted(row, Shape.RECENT, 1.0 - 0.05 * rank, message_part(row.node))


def commits_in(folder: Folder, reading: Reading) -> list[NodeRow]:
    """Return the commits that changed something in a folder, as git lists them, or those linked to its files."""
    snapshot, files = reading.snapshot, {node.id for node in folder.files}
    listed = _list_by_git(folder.as_node(), reading)
    if listed:
        return listed
    touching = {
        source
        for source, target, edge in snapshot.edges(sorted(files), _MAX_TOUCHING)
        if edge.type == "touches" and target in files
    }
    return sorted(snapshot.nodes(sorted(touching)).values(), key=newest_first)


def _search_commits(plan: Plan, query: Query, reading: Reading) -> tuple[Sequence[Candidate], Mapping[int, float]]:
    """Return the commits that a search finds, and how well each matches, by id."""
    filter = replace(plan.request.filter, kinds=(COMMIT,))
    probe = Probe("history", limit=4 * _MAX_COMMITS)
    found = search(query, probe, filter, plan.profile.fusion, reading.snapshot, reading.index).candidates
    rarities = query.rarities()
    return found, {one.node.id: _worth(one, rarities) for one in found}


def _name_releases(commits: Sequence[Node], reading: Reading) -> Mapping[int, str]:
    return reading.repositories.name_releases(commits) if reading.repositories else {}


def _worth(commit: Candidate, rarities: Mapping[int, float]) -> float:
    """Return how well a commit matches, with what its subject says for it.

    A message that lists all that was done on the way matches worse than a short one, whatever its subject says.
    """
    subject = set(term_hashes(analyze(commit.node.title)))
    named = sum(rarities.get(term, 0.0) for term in subject)
    alone = len(subject & rarities.keys()) / max(len(subject), 1)
    return commit.parts["relevance"] + _SUBJECT * named / max(sum(rarities.values()), 1e-9) * (1 + _ALONE * alone)


def find_recent(shapes: Shapes, reading: Reading) -> Iterator[Wanted]:
    """Yield the newest commits that changed what the question names."""
    snapshot = reading.snapshot
    names = [*shapes.names, *filter(None, [shapes.type])]
    named = [row.node for name in names for row in find_definitions(name, reading)[:2]]
    files = [number for numbers in snapshot.find(shapes.files).values() for number in numbers]
    named += [row.node for row in snapshot.nodes(files).values()]
    for rank, (row, titles) in enumerate(commits_of(named, reading)[:_MAX_RECENT]):
        mark = describe_change(row.node, titles)
        yield Wanted(row, Shape.RECENT, 1.0 - 0.05 * rank, message_part(row.node), mark=mark)


def commits_of(nodes: Sequence[Node], reading: Reading) -> list[tuple[NodeRow, list[str]]]:
    """Return the commits that changed files or definitions, newest first, with the definitions that each touched.

    Where the repository is at hand, git tells which commits changed these lines, and leaves out those of side
    branches that only repeat them. Else it is what the names around their changes tell.
    """
    # A change of a method is one of its class.
    inner = {node.id: find_members(node, reading) for node in nodes if node.kind in OUTLINED_KINDS}
    targets = {each.id: each for node in nodes for each in (node, *inner.get(node.id, ()))}
    touched: dict[int, set[str]] = {}
    for source, target, edge in reading.snapshot.edges(sorted(targets), _MAX_TOUCHING) if targets else ():
        if edge.type == "touches" and target in targets:
            node = targets[target]
            touched.setdefault(source, set()).update([node.title] if node.kind in DEFINITION_KINDS else ())
    by_edges = sorted(reading.snapshot.nodes(sorted(touched)).values(), key=newest_first)
    listed = [_ask_git(node, inner.get(node.id, ()), by_edges, reading) for node in nodes]
    rows = {row.node.id: row for each in listed for row in each}.values()
    # Git's order is kept for one thing: a commit that was rebased is older than those before it.
    ordered = list(rows) if len(nodes) == 1 else sorted(rows, key=newest_first)
    return [(row, sorted(touched.get(row.node.id, ()))) for row in ordered]


def _ask_git(node: Node, members: Sequence[Node], by_edges: Sequence[NodeRow], reading: Reading) -> list[NodeRow]:
    """Return the commits of a file or definition as git lists them, and older ones of a file that was renamed."""
    listed = _list_by_git(_whole_span(node, members), reading)
    if not listed:
        return list(by_edges)
    oldest = min(_time(row.node) for row in listed)
    return [*listed, *(row for row in by_edges if _time(row.node) < oldest)]


def _list_by_git(node: Node, reading: Reading, word: str = "") -> list[NodeRow]:
    """Return the stored commits that git lists for the place of a node, or a word in its file, newest first."""
    hashes = reading.repositories.list_commits(node, word) if reading.repositories else ()
    keys = [f"commit/{hash[:_KEY_DIGITS]}" for hash in hashes]
    found = reading.snapshot.find(keys) if keys else {}
    rows = reading.snapshot.nodes([number for key in keys for number in found.get(key, ())])
    return [row for row in rows.values() if row.node.origin.source == node.origin.source]


def _whole_span(node: Node, members: Sequence[Node]) -> Node:
    """Return a definition with the lines of its members; a file has no lines, since all of it is meant."""
    origin = node.origin
    if node.kind not in DEFINITION_KINDS:
        return replace(node, origin=replace(origin, first_line=None, last_line=None))
    ends = [each.origin.last_line for each in (node, *members) if each.origin.last_line is not None]
    return replace(node, origin=replace(origin, last_line=max(ends, default=None)))


def newest_first(row: NodeRow) -> tuple[float, str]:
    return -_time(row.node), row.node.key


def _time(node: Node) -> float:
    moment = node.modified or node.created or datetime.min.replace(tzinfo=UTC)
    return moment.timestamp() if moment.year > 1 else 0.0


def message_part(node: Node) -> Span | None:
    """Return the beginning of a commit's message below its subject, to the end of a line and without trailers."""
    trailers = _TRAILERS.search(node.text)
    end = trailers.start() if trailers else len(node.text)
    if end > _MAX_COMMIT_CHARS:
        cut = node.text.rfind("\n", 0, _MAX_COMMIT_CHARS)
        end = cut if cut > 0 else _MAX_COMMIT_CHARS
    if not 0 < end < len(node.text):
        return None
    # The subject stands above the item as its title; where there is nothing else, it tells the printer so.
    start = len(node.title) if node.text.startswith(node.title) else 0
    return (start if node.text[start:end].strip() else 0), end


def find_commits(hashes: Sequence[str], reading: Reading) -> list[NodeRow]:
    """Return the commits whose hashes begin with one of these."""
    snapshot = reading.snapshot
    if COMMIT not in snapshot.kinds():
        return []
    # A longer hash is found by its key at once.
    found = snapshot.find([f"commit/{each[:_KEY_DIGITS]}" for each in hashes if len(each) >= _KEY_DIGITS])
    rows = list(snapshot.nodes([number for numbers in found.values() for number in numbers]).values())
    short = tuple(each for each in hashes if len(each) < _KEY_DIGITS)
    if short:
        ids = snapshot.matching_ids(Filter(kinds=(COMMIT,)))[:_MAX_SCANNED_COMMITS].tolist()
        for start in range(0, len(ids), _SCAN_BATCH):
            batch = snapshot.nodes(ids[start : start + _SCAN_BATCH]).values()
            rows += [row for row in batch if (row.node.origin.commit or "").startswith(short)]
    return rows
