"""The acceptance criteria of the context assembler for learning memory, by their numbers."""

import asyncio
import inspect
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from markdown_it import MarkdownIt

import learning_world as some
from weft import Node, Weft
from weft.assemblers import (
    ContextAssembler,
    ContextAssemblyError,
    ContextItem,
    FormattedContext,
    InvalidContextTypeError,
    StoreSearcher,
    assemble_context,
    get_premortem_context,
)
from weft.assemblers.learning import assembler
from weft.errors import UnknownName
from weft.memory import DOMAINS, STRATEGIES, Lesson, Outcome, RootCause
from weft.memory.experience_store import resolve_experience, start_experience
from weft.memory.memory_store import remember
from weft.model import Edge, Origin
from weft.profiles import load_profile
from weft.tokens import counter_for

NOW = datetime(2026, 3, 1, tzinfo=UTC)
WEIGHT = {"experiences": 3, "code": 2, "commits": 2, "values": 1, "memories": 1}
COUNT, _ = counter_for("cl100k_base")


def context(searcher: Any, types: tuple[str, ...] = some.TYPES, **more: Any) -> FormattedContext:
    made = ContextAssembler(searcher, clock=lambda: NOW, deadline_seconds=5)
    return asyncio.run(made.assemble_context("how to start the broker", types, **more))


def premortem(searcher: Any, *given: str, **more: Any) -> FormattedContext:
    made = ContextAssembler(searcher, clock=lambda: NOW, deadline_seconds=5)
    return asyncio.run(made.get_premortem_context(*given, **more))


def headings(markdown: str) -> list[str]:
    return re.findall(r"^## (.+)$", markdown, re.M)


# --- interface ---------------------------------------------------------------------------------------------


def test_interface_the_methods_have_the_documented_parameters_and_defaults() -> None:
    asked = inspect.signature(ContextAssembler.assemble_context).parameters
    warned = inspect.signature(ContextAssembler.get_premortem_context).parameters
    assert list(asked) == ["self", "query", "context_types", "limit", "max_tokens"]
    assert (asked["limit"].default, asked["max_tokens"].default) == (20, 2000)
    assert list(warned) == ["self", "domain", "strategy", "limit", "max_tokens"]
    assert [warned[name].default for name in ("strategy", "limit", "max_tokens")] == [None, 10, 1500]
    assert inspect.iscoroutinefunction(ContextAssembler.assemble_context)
    assert inspect.iscoroutinefunction(ContextAssembler.get_premortem_context)


def test_interface_limit_is_the_most_items_of_each_source() -> None:
    answer = context(some.full_searcher(12), limit=2, max_tokens=20_000)
    assert set(answer.sources_used.values()) == {2}


def test_errors_3_empty_results_from_all_sources_are_an_empty_context_and_no_error() -> None:
    assert context(some.FakeSearcher()) == FormattedContext()
    assert premortem(some.FakeSearcher(), "debugging").markdown == ""


# --- functional ------------------------------------------------------------------------------------------


def test_functional_1_every_requested_source_is_queried_and_no_other() -> None:
    searcher = some.full_searcher()
    context(searcher)
    assert sorted(name for name, _ in searcher.asked) == sorted(some.TYPES)
    assert dict(searcher.asked)["experiences"] == {
        "query": "how to start the broker",
        "axis": "full",
        "limit": 20,
    }
    only = some.full_searcher()
    context(only, ("memories", "commits"), limit=7)
    assert sorted(name for name, _ in only.asked) == ["commits", "memories"]
    assert all(asked["limit"] == 7 for _, asked in only.asked)


def test_functional_2_results_are_ranked_by_relevance_within_each_source() -> None:
    answer = context(some.full_searcher(6))
    for source in ("memory", "code", "experience", "value", "commit"):
        mine = [item for item in answer.items if item.source == source]
        places = [answer.markdown.index(item.content) for item in mine]
        assert len(mine) > 1
        assert [item.relevance for item in mine] == sorted((item.relevance for item in mine), reverse=True)
        assert places == sorted(places)


def test_functional_2_confidence_importance_and_recency_raise_an_item() -> None:
    searcher = some.FakeSearcher(
        memories=[some.memory(0, importance=0.0, score=0.80), some.memory(1, importance=1.0, score=0.79)],
        experiences=[
            some.experience(2, confidence_tier="abandoned", score=0.70),
            some.experience(3, confidence_tier="bronze", score=0.70),
            some.experience(4, confidence_tier="silver", score=0.70),
            some.experience(5, confidence_tier="gold", score=0.70),
        ],
        commits=[
            some.commit(6, timestamp="2020-01-01T00:00:00", score=0.50),
            some.commit(7, timestamp="2026-02-28T00:00:00", score=0.49),
        ],
    )
    items = context(searcher, ("memories", "experiences", "commits")).items
    assert [item.metadata["id"] for item in items if item.source == "memory"] == ["m1", "m0"]
    tiers = [item.metadata["confidence_tier"] for item in items if item.source == "experience"]
    assert tiers == ["gold", "silver", "bronze", "abandoned"]
    assert [int(item.metadata["sha"], 16) for item in items if item.source == "commit"] == [7, 6]


def test_functional_3_the_same_experience_in_experiences_and_values_is_told_once() -> None:
    searcher = some.FakeSearcher(
        experiences=[some.experience(1, score=0.9)], values=[some.value(2, experience_id="e1", score=0.5)]
    )
    assert [item.source for item in context(searcher, ("experiences", "values")).items] == ["experience"]


@pytest.mark.parametrize("carried", [{"id": "e1"}, {"ghap_id": "e1"}, {"exemplar": "e1"}, {"experience_id": "e1"}])
def test_functional_3_a_value_that_carries_its_experiences_id_is_a_duplicate(carried: dict[str, str]) -> None:
    for score, kept in ((0.9, "experience"), (0.2, "value")):
        searcher = some.FakeSearcher(
            experiences=[some.experience(1, score=score)], values=[some.value(2, score=0.5, **carried)]
        )
        assert [item.source for item in context(searcher, ("experiences", "values")).items] == [kept]


def test_functional_3_one_file_in_code_and_commits_is_told_once_by_the_more_relevant() -> None:
    searcher = some.FakeSearcher(
        code=[some.code(1, "src/broker.py", score=0.4), some.code(2, "src/other.py", score=0.4)],
        commits=[some.commit(3, files_changed=["src/broker.py"], score=0.9)],
    )
    items = context(searcher, ("code", "commits")).items
    assert [item.metadata.get("file_path") or item.metadata["sha"][-1] for item in items] == ["3", "src/other.py"]


def test_functional_3_two_functions_in_one_file_are_two_items() -> None:
    searcher = some.FakeSearcher(code=[some.code(1), some.code(2)])
    assert len(context(searcher, ("code",)).items) == 2


def test_functional_3_nearly_the_same_text_is_told_once() -> None:
    words = "The broker must be started before the workers, or they wait for it forever and a day"
    searcher = some.FakeSearcher(
        memories=[some.memory(1, words, score=0.6)], values=[some.value(2, text=f"{words}.", score=0.9)]
    )
    assert [item.source for item in context(searcher, ("memories", "values")).items] == ["value"]


@pytest.mark.parametrize("max_tokens", [600, 2000, 6000])
def test_functional_4_the_budget_is_shared_by_weight(max_tokens: int) -> None:
    answer = context(some.full_searcher(12), max_tokens=max_tokens)
    assert answer.token_count <= max_tokens
    spent = {
        name: sum(COUNT.count(item.content) for item in answer.items if item.source == source)
        for name, source in assembler.SOURCES.items()
    }
    if max_tokens == 600:
        # Nobody can spend more than its share as long as all could.
        for name, tokens in spent.items():
            assert tokens <= WEIGHT[name] / 9 * max_tokens + 60


def test_functional_4_what_one_source_cannot_spend_goes_to_the_others() -> None:
    searcher = some.full_searcher(12)
    searcher.experiences = searcher.commits = searcher.code = ()
    answer = context(searcher, max_tokens=400)
    assert sum(COUNT.count(item.content) for item in answer.items if item.source == "memory") > 400 / 9


def test_functional_4_no_item_costs_more_than_a_quarter_of_its_source() -> None:
    long = " ".join(f"word{number}" for number in range(4000))
    searcher = some.FakeSearcher(
        memories=[some.memory(1, long)],
        code=[some.code(2, docstring=long)],
        experiences=[some.experience(3, surprise=long)],
        values=[some.value(4, text=long[::-1])],
        commits=[some.commit(5, message=long.upper())],
    )
    answer = context(searcher)
    notes = {
        "memory": "*(truncated)*",
        "code": "*(truncated, see full at src/app.py:21)*",
        "experience": "*(truncated, full experience ID: e3)*",
        "value": "*(truncated)*",
        "commit": "*(truncated)*",
    }
    assert {item.source for item in answer.items} == set(notes)
    for item in answer.items:
        name = next(each for each, source in assembler.SOURCES.items() if source == item.source)
        cap = int(0.25 * WEIGHT[name] / 9 * 2000)
        assert COUNT.count(item.content) <= cap
        assert item.content.endswith(notes[item.source])
        assert "..." in item.content
        assert item.content in answer.markdown


def test_functional_4_no_item_is_cut_in_mid_line() -> None:
    sentences = [f"Step {number} waits for the broker to answer." for number in range(300)]
    lines = [f"- file {number} was moved to the new folder" for number in range(300)]
    code = [f"    value_{number}: the number of workers that step {number} starts" for number in range(300)]
    searcher = some.FakeSearcher(
        memories=[some.memory(1, " ".join(sentences))],
        code=[some.code(2, docstring="\n".join(code))],
        experiences=[some.experience(3, surprise=" ".join(sentences))],
        commits=[some.commit(5, message="\n".join(lines))],
    )
    answer = context(searcher, ("memories", "code", "experiences", "commits"))
    assert {item.source for item in answer.items} == {"memory", "code", "experience", "commit"}
    whole = {*sentences, *(line.strip() for line in (*lines, *code))}
    for item in answer.items:
        cut = next(line for line in item.content.splitlines() if line.endswith("..."))
        before = item.content[: item.content.index(cut)].splitlines() if cut.strip() == "..." else [cut[:-4]]
        assert any(before[-1].strip().endswith(each) for each in whole)


def test_functional_4_what_was_cut_is_noted_and_logged(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    long = " ".join(f"Step {number} waits for the broker." for number in range(300))
    found = [some.memory(number, f"{long} Case {number}.") for number in range(40)]
    answer = context(some.FakeSearcher(memories=found), ("memories",), limit=40)
    left_out = 40 - len(answer.items)
    assert (
        f"Of what was found, left out: {left_out} of 40 (memory); shortened: {len(answer.items)}." in answer.notes
    )
    # structlog writes to stderr; without it the record is one of logging.
    assert "items_cut" in caplog.text + capsys.readouterr().err


def test_functional_4_one_sentence_without_an_end_is_cut_between_words() -> None:
    long = " ".join(f"word{number}" for number in range(4000))
    (item,) = context(some.FakeSearcher(memories=[some.memory(1, long)]), ("memories",)).items
    assert re.search(r"word\d+\.\.\.", item.content)
    shown = re.findall(r"word\d+", item.content)
    assert shown == long.split()[: len(shown)]


def test_functional_5_the_page_has_the_documented_form() -> None:
    searcher = some.FakeSearcher(
        memories=[some.memory(1, "Use tabs")],
        code=[some.code(2)],
        experiences=[some.experience(3)],
        values=[some.value(4)],
        commits=[some.commit(5)],
    )
    assert context(searcher).markdown == PAGE.rstrip()


PAGE = """\
# Context

## Memories

**Memory**: Use tabs
*Category: fact, Importance: 0.5*

## Code

**function** `load_index` in `src/app.py:21`
```python
def load_index(path: str, part2: int) -> bytes:
Read the index from disk.
```

## Experiences

**Experience**: debugging | read-the-error
- **Goal**: Make the ledger start
- **Hypothesis**: The ledger waits for port 9003
- **Action**: Open port 9003
- **Prediction**: The ledger logs ready
- **Outcome**: falsified - The ledger still hangs
- **Surprise**: Its clock was 4 hours off
- **Lesson**: Setting the clock of the ledger

## Values

**Value** (root_cause, cluster size: 8):
Look at the mailer before blaming the network.

## Commits

**Commit** `0000000` by Lotte on 2026-02-20T10:00:00+00:00
Start the proxy before the workers

Otherwise they wait.
*Files: src/proxy.py, README.md*

---
*5 items from 5 sources*
"""


def test_functional_6_empty_sources_are_left_out() -> None:
    answer = context(some.FakeSearcher(values=[some.value(1)]))
    assert headings(answer.markdown) == ["Values"]
    assert answer.markdown.rstrip().endswith("*1 items from 1 sources*")
    assert context(some.FakeSearcher()) == FormattedContext()


def test_functional_7_an_unknown_context_type_is_refused_with_the_valid_ones() -> None:
    for types in (("memories", "memos"), (), ("",)):
        with pytest.raises(InvalidContextTypeError, match="code, commits, experiences, memories, values"):
            context(some.full_searcher(), types)
    assert issubclass(InvalidContextTypeError, ContextAssemblyError)
    assert issubclass(InvalidContextTypeError, UnknownName)


def test_functional_8_a_premortem_filters_by_domain_and_strategy() -> None:
    searcher = some.FakeSearcher()
    premortem(searcher, "debugging", "read-the-error", limit=8)
    assert [asked for _, asked in searcher.asked] == [
        {
            "query": "failures and issues in debugging",
            "axis": "full",
            "domain": "debugging",
            "outcome": "falsified",
            "limit": 8,
        },
        {
            "query": "outcomes using read-the-error strategy",
            "axis": "strategy",
            "strategy": "read-the-error",
            "limit": 8,
        },
        {"query": "unexpected outcomes in debugging", "axis": "surprise", "domain": "debugging", "limit": 8},
        {"query": "why hypotheses fail in debugging", "axis": "root_cause", "domain": "debugging", "limit": 8},
        {"query": "principles for debugging using read-the-error", "limit": 5},
    ]


def test_functional_8_an_unknown_domain_or_strategy_is_refused_with_the_valid_ones() -> None:
    with pytest.raises(InvalidContextTypeError, match="configuration, debugging, documentation"):
        premortem(some.FakeSearcher(), "cooking")
    with pytest.raises(InvalidContextTypeError, match="systematic-elimination, trial-and-error"):
        premortem(some.FakeSearcher(), "debugging", "luck")


def test_functional_9_a_premortem_asks_every_axis_and_the_strategy_only_when_given() -> None:
    searcher = some.FakeSearcher()
    premortem(searcher, "testing")
    axes = [asked.get("axis") for name, asked in searcher.asked if name == "experiences"]
    assert axes == ["full", "surprise", "root_cause"]
    assert searcher.asked[-1][1]["query"] == "principles for testing"


def test_a_premortem_counts_an_experience_once_however_often_it_is_told() -> None:
    searcher = some.FakeSearcher(experiences=[some.experience(1), some.experience(2)])
    warning = premortem(searcher, "debugging", "read-the-error")
    assert len(warning.items) > 2
    assert warning.markdown.endswith("*Based on 2 past experiences*")


def test_functional_9_one_experience_may_appear_under_several_axes() -> None:
    searcher = some.FakeSearcher(
        experiences=lambda axis, **asked: [some.experience(3, axis=axis)], values=[some.value(4)]
    )
    answer = premortem(searcher, "debugging", "read-the-error")
    assert headings(answer.markdown) == [
        "Common Failures",
        "Strategy Performance",
        "Unexpected Outcomes",
        "Root Causes to Watch",
        "Relevant Principles",
    ]
    assert answer.markdown.startswith("# Premortem: debugging with read-the-error\n")
    assert answer.sources_used == {"experience": 4, "value": 1}
    assert "Common Failures" in premortem(searcher, "debugging").markdown
    assert "Strategy Performance" not in premortem(searcher, "debugging").markdown


def test_functional_10_the_answer_has_every_documented_field() -> None:
    answer = context(some.full_searcher(1))
    assert set(get_type_hints(FormattedContext)) >= {"markdown", "items", "token_count", "sources_used"}
    assert set(get_type_hints(ContextItem)) == {"source", "content", "relevance", "metadata"}
    assert answer.sources_used == {"memory": 1, "code": 1, "experience": 1, "value": 1, "commit": 1}
    assert answer.budget_exceeded is False
    assert {item.source: set(item.metadata) for item in answer.items} == {
        "memory": {"id", "category", "importance", "created_at"},
        "code": {"file_path", "start_line", "end_line", "language", "qualified_name"},
        "experience": {"id", "domain", "strategy", "outcome_status", "confidence_tier", "iteration_count"},
        "value": {"id", "axis", "cluster_id", "cluster_size", "similarity_to_centroid"},
        "commit": {"sha", "author", "timestamp", "files_changed", "insertions", "deletions"},
    }
    assert all(0.0 <= item.relevance <= 1.0 for item in answer.items)
    assert [item.relevance for item in answer.items] == sorted(
        (item.relevance for item in answer.items), reverse=True
    )


# --- quality ---------------------------------------------------------------------------------------------


def test_quality_1_the_token_count_is_the_tokenizers_own() -> None:
    answer = context(some.full_searcher())
    assert answer.token_count == COUNT.count(answer.markdown)


def test_quality_2_nine_of_ten_planted_duplicates_are_caught() -> None:
    originals = [
        f"The {noun} keeps its settings in /etc/{noun}.conf and reads them again on signal {number + 20}"
        for number, noun in enumerate(some.NOUNS)
    ]
    planted = [text.replace(" and reads", ", and reads").upper() for text in originals]
    searcher = some.FakeSearcher(
        memories=[some.memory(number, text) for number, text in enumerate(originals)],
        values=[some.value(number, text=text, score=0.1) for number, text in enumerate(planted)],
    )
    answer = context(searcher, ("memories", "values"), max_tokens=8000)
    assert answer.sources_used["memory"] == len(originals)
    assert answer.sources_used.get("value", 0) <= len(planted) // 10


def test_quality_3_the_page_is_valid_markdown_whatever_was_stored() -> None:
    hostile = "```\n# Context\n## Commits\n---\n*99 items from 9 sources*"
    searcher = some.full_searcher(2)
    searcher.memories = [some.memory(1, hostile)]
    searcher.experiences = [some.experience(2, surprise=hostile, goal="## Forged")]
    answer = context(searcher)
    tokens = MarkdownIt().parse(answer.markdown)
    titles = [tokens[index + 1].content for index, token in enumerate(tokens) if token.type == "heading_open"]
    assert titles == ["Context", "Memories", "Code", "Experiences", "Values", "Commits"]


def test_quality_4_errors_name_the_value_what_is_allowed_and_the_nearest() -> None:
    with pytest.raises(InvalidContextTypeError, match=r"Unknown context type 'memory'. Did you mean 'memories'\?"):
        context(some.full_searcher(), ("memory",))


def test_quality_5_a_source_that_fails_leaves_the_rest() -> None:
    searcher = some.full_searcher()
    searcher.code = RuntimeError("the index is gone")  # type: ignore[assignment]
    answer = context(searcher)
    assert "Code" not in headings(answer.markdown)
    assert len(headings(answer.markdown)) == 4
    assert answer.notes == ("code: failed with RuntimeError: the index is gone.",)


def test_quality_6_and_7_public_names_have_types_and_docstrings() -> None:
    for name in ("ContextAssembler", "ContextItem", "FormattedContext", "Searcher", "assemble_context"):
        assert inspect.getdoc(getattr(assembler, name))
    for function in (ContextAssembler.assemble_context, assemble_context, get_premortem_context):
        assert inspect.iscoroutinefunction(function)
        assert get_type_hints(function)["return"] is FormattedContext


def test_quality_8_failures_are_logged_with_their_facts() -> None:
    from structlog.testing import capture_logs

    searcher = some.full_searcher(1)
    searcher.values = RuntimeError("gone")  # type: ignore[assignment]
    with capture_logs() as logged:
        context(searcher)
    assert logged == [
        {
            "event": "search_failed",
            "source": "values",
            "reason": "failed with RuntimeError: gone",
            "log_level": "warning",
        }
    ]


# --- performance and testing (measured by bench/learning.py, enforced by `make coverage`) ------------------


def test_performance_3_the_weights_are_the_documented_ones() -> None:
    sources = [each for each in load_profile("learning").sections if not each.standing]
    assert {each.name: each.share for each in sources} == WEIGHT


@pytest.mark.parametrize("max_tokens", [1, 20, 60, 150, 400, 1500])
def test_the_budget_is_hard(max_tokens: int) -> None:
    searcher = some.full_searcher(12)
    for answer in (
        context(searcher, max_tokens=max_tokens),
        premortem(searcher, "debugging", max_tokens=max_tokens),
    ):
        assert COUNT.count(answer.markdown) == answer.token_count <= max_tokens
        assert not answer.budget_exceeded


def test_testing_2_end_to_end_over_a_real_store(tmp_path: Path) -> None:
    with Weft.open(tmp_path / ".weft") as weft:
        shop = weft.workshop()
        kept = remember(shop, "The broker must be started before the workers", now=NOW).memory
        story = {"goal": "Start the broker", "action": "Open the port", "prediction": "It logs ready"}
        begun = start_experience(
            shop,
            domain="debugging",
            strategy="read-the-error",
            hypothesis="The broker waits for its port",
            now=NOW,
            **story,
        )
        ended = Outcome(
            "falsified",
            "The broker still hangs",
            surprise="Its clock was wrong",
            root_cause=RootCause("environment-issue", "Clock drift"),
            lesson=Lesson("Setting the clock"),
        )
        resolve_experience(shop, begun.id, ended, now=NOW)
        start_experience(
            shop, domain="testing", strategy="ask-user", hypothesis="The tests wait for it", now=NOW, **story
        )
        weft.put(STORED, [Edge("value:1", begun.key, "emerges_from")])
        searcher = StoreSearcher(weft)
        answer = context(searcher)
        assert headings(answer.markdown) == ["Memories", "Code", "Experiences", "Values", "Commits"]
        assert answer.sources_used == {"memory": 1, "code": 1, "experience": 2, "value": 1, "commit": 1}
        found = {item.source: item.metadata for item in answer.items}
        assert found["memory"]["id"] == kept.key
        assert found["code"]["file_path"] == "src/broker.py"
        assert COUNT.count(answer.markdown) == answer.token_count
        warned = premortem(searcher, "debugging", "read-the-error")
        assert headings(warned.markdown)[:4] == [
            "Common Failures",
            "Strategy Performance",
            "Unexpected Outcomes",
            "Root Causes to Watch",
        ]
        assert {item.metadata["id"] for item in warned.items if item.source == "experience"} == {begun.id}
        assert "tests wait" not in warned.markdown
        assert premortem(searcher, "security").sources_used in ({}, {"value": 1})


STORED = (
    Node(
        "repo:src/broker.py#start",
        "function",
        title="start_broker",
        summary="Start the broker and wait for it.",
        text="def start_broker():\n    pass",
        language="python",
        fields={"signature": "def start_broker() -> None"},
        origin=Origin("repo", "src/broker.py", 3, 9),
    ),
    Node(
        "value:1",
        "value",
        text="Check the clock before the broker's network.",
        fields={"axis": "full", "cluster_id": "full-1", "cluster_size": 5, "similarity_to_centroid": 0.9},
    ),
    Node(
        "git:abc",
        "commit",
        title="Let the broker wait",
        text="Let the broker wait for the disk",
        fields={"sha": "abcdef0123", "author": "Nuria", "timestamp": "2026-02-01", "files_changed": ["a.py"]},
        modified=NOW,
    ),
)


def test_every_domain_and_strategy_has_its_premortem() -> None:
    for domain in DOMAINS:
        for strategy in (None, *STRATEGIES):
            given = (domain,) if strategy is None else (domain, strategy)
            assert premortem(some.FakeSearcher(), *given) == FormattedContext()
