"""The formatter gives the best that is left, whatever its store and its callers do."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from weft import Node, Weft
from weft.assemblers import SmartContextFormatter
from weft.assemblers.log import log_failure
from weft.model import Alias, Context, Request
from weft.tokens import counter_for

VAULT = "vault"
QUERY = "Who is Odo Farrant?"
ODO = {"id": "s:odo", "name": "Odo Farrant", "entity_type": "character", "description": "A clerk, by hand."}
GHOST = {"id": "nobody", "name": "Nobody"}
TIDES = {"title": "Tides", "content": "The harbour was quiet."}
BUILT = "**Definition:**\nOdo Farrant was tide clerk for nineteen years."
DESCRIBED = "### Odo Farrant (CHARACTER)\n\n**Definition:**\nA clerk, by hand."
DOCUMENT = "## General Context\n\n**[chunk] Tides**\nThe harbour was quiet."
COUNT, _ = counter_for("cl100k_base")


@pytest.fixture
def weft(tmp_path: Path) -> Iterator[Weft]:
    with Weft.open(tmp_path / ".weft", embedder=None) as opened:
        opened.put(
            [
                Node(
                    "s:odo",
                    "character",
                    VAULT,
                    title="Odo Farrant",
                    text="Odo Farrant was tide clerk for nineteen years.",
                    aliases=(Alias("Odo"),),
                ),
                *(_chapter(number) for number in range(1, 13)),
            ]
        )
        yield opened


def _chapter(number: int) -> Node:
    sentences = " ".join(
        f"Odo Farrant counted the {what} of day {number}." for what in ("boats", "lamps", "ropes")
    )
    return Node(f"s:ch{number}", "chapter", VAULT, title=f"Chapter {number}", text=sentences, sequence=number)


def formatted(session: object, query: object = QUERY, **given: Any) -> tuple[str, list[str]]:
    """The page and the events that were logged."""
    with capture_logs() as logs:
        page = asyncio.run(
            SmartContextFormatter().format_context(query, VAULT, session=session, **given)  # type: ignore[arg-type]
        )
    return page, [entry["event"] for entry in logs]


def _closed(weft: Weft) -> object:
    weft.close()
    return weft


class Raising:
    """A store of which nothing can be read."""

    def __getattr__(self, name: str) -> object:
        raise OSError(f"the disk is gone: {name}")


class Losing:
    """A store that is lost once the entities are built."""

    def __init__(self, weft: Weft) -> None:
        self._weft = weft

    def __getattr__(self, name: str) -> object:
        return getattr(self._weft, name)

    def assemble(self, request: Request, now: Any, observe: Any = None, profile: Any = None) -> Context:
        if request.candidates:
            raise OSError("the disk is gone")
        return self._weft.assemble(request, now, observe, profile)


# --- stores ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("broken", [_closed, lambda _: Raising(), lambda _: object()])
def test_without_a_store_that_answers_what_was_brought_is_laid_out(
    weft: Weft, broken: Callable[[Weft], object]
) -> None:
    session = broken(weft)
    page, events = formatted(session, entities=[ODO, GHOST], documents=[TIDES])
    assert DESCRIBED in page and DOCUMENT in page and "Nobody" not in page
    assert events.count("entity_context_build_failed") == 2
    assert "smart_context_store_failed" in events
    page, _ = formatted(session, entities=[GHOST], documents=[TIDES])
    assert "## Key Entities" not in page and DOCUMENT in page
    for given in ({"entities": [GHOST]}, {}):
        page, events = formatted(session, **given)
        assert page == "" and "smart_context_empty" in events


def test_without_a_store_at_all_what_was_brought_is_laid_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("WEFT_STORE", raising=False)
    page, events = formatted(None, entities=[ODO], documents=[TIDES])
    assert DESCRIBED in page and DOCUMENT in page
    assert "smart_context_store_failed" in events
    assert formatted(None)[0] == ""


def test_pages_without_a_store_keep_their_budget(weft: Weft) -> None:
    weft.close()
    documents = [{"title": f"Part {at}", "content": f"Day {at}. " * 300} for at in range(20)]
    page, _ = formatted(weft, entities=[ODO], documents=documents, max_total_tokens=900)
    assert 0.9 * 900 <= COUNT.count(page) <= 900


def test_entities_that_were_built_survive_a_store_that_is_lost_afterwards(weft: Weft) -> None:
    page, events = formatted(Losing(weft), entities=[ODO], documents=[TIDES])
    whole, _ = formatted(weft, entities=[ODO], documents=[TIDES])
    assert page == whole.replace("[more: s:odo]\n", "")
    assert BUILT in page and "smart_context_store_failed" in events


def test_a_page_that_a_failure_has_spoilt_is_not_kept(weft: Weft) -> None:
    formatter = SmartContextFormatter()
    ask = lambda store: asyncio.run(  # noqa: E731
        formatter.format_context(QUERY, VAULT, entities=[ODO], session=store)
    )
    broken = Losing(weft)
    broken.show = Raising().__getattr__  # type: ignore[attr-defined]
    assert DESCRIBED in ask(broken)
    assert BUILT in ask(weft)


def test_nothing_later_is_told_without_a_store_either(weft: Weft) -> None:
    weft.close()
    documents = [TIDES, {"title": "Early", "content": "A lamp.", "sequence": 1}]
    page, _ = formatted(weft, entities=[ODO], documents=documents, max_sequence=2)
    assert "A lamp." in page and "clerk" not in page and "quiet" not in page


# --- what callers hand in --------------------------------------------------------------------------------------


def _failing() -> Iterator[object]:
    yield TIDES
    raise OSError("the cursor is gone")


@pytest.mark.parametrize(
    ("entities", "documents"),
    [
        (lambda: iter([ODO]), lambda: (each for each in [TIDES])),
        ({"odo": ODO}.values, _failing),
        (lambda: ODO, lambda: TIDES),
        (lambda: "Odo Farrant", lambda: [None, {}, {"title": "No text"}, TIDES]),
        (lambda: [None, {}, 3, {"name": "Odo"}], lambda: (TIDES,)),
    ],
)
def test_entities_and_documents_come_in_any_shape(
    weft: Weft, entities: Callable[[], object], documents: Callable[[], object]
) -> None:
    page, _ = formatted(weft, entities=entities(), documents=documents())
    assert BUILT in page and DOCUMENT in page


def test_a_record_whose_fields_cannot_be_read_is_left_out(weft: Weft) -> None:
    page, events = formatted(weft, entities=[Raising(), ODO], documents=[Raising(), TIDES])
    assert BUILT in page and DOCUMENT in page
    assert "smart_context_input_failed" in events


@pytest.mark.parametrize(("error", "has_traceback"), [(OSError("gone"), False), (ZeroDivisionError("odd"), True)])
def test_a_failure_that_does_not_explain_itself_is_logged_with_its_traceback(
    error: Exception, has_traceback: bool
) -> None:
    with capture_logs() as logs, log_failure("smart_context_store_failed", store="here"):
        raise error
    (entry,) = logs
    assert entry["error_type"] == type(error).__name__ and entry["store"] == "here"
    assert ("exc_info" in entry) is has_traceback


@pytest.mark.parametrize("query", [None, 5, "", "\ud800", "\x00"])
def test_no_query_is_too_odd(weft: Weft, query: object) -> None:
    page, _ = formatted(weft, query, entities=[ODO], documents=[TIDES])
    assert BUILT in page and DOCUMENT in page
    assert "smart_context_formatting_failed" not in formatted(weft, query)[1]


def test_numbers_that_are_none_are_the_usual_ones_and_an_unknown_preset_is_left_out(weft: Weft) -> None:
    usual, _ = formatted(weft, entities=[ODO])
    for given in ({"max_total_tokens": None}, {"max_entities": "many"}, {"max_total_tokens": "8000"}):
        assert formatted(weft, entities=[ODO], **given)[0] == usual
    page, events = formatted(weft, entities=[ODO], preset="no such preset")
    assert page == usual and "smart_context_preset_unknown" in events


def test_a_point_of_the_story_that_cannot_be_understood_tells_nothing(weft: Weft) -> None:
    page, events = formatted(weft, entities=[ODO], max_sequence="the end")
    assert "'the end' is no whole number" in page and "Odo" not in page
    assert "smart_context_sequence_invalid" in events


# --- which entities, and how much of each ----------------------------------------------------------------------


def test_an_entity_whose_id_the_store_does_not_know_is_found_by_its_name(weft: Weft) -> None:
    for own in ("6f1aaf71-4379-484e-8000-000000000001", 2):
        page, _ = formatted(weft, entities=[{**ODO, "id": own}])
        assert BUILT in page and "### Chapter" not in page


def test_an_entity_given_twice_is_told_of_once(weft: Weft) -> None:
    page, _ = formatted(weft, entities=["Odo", ODO, "s:odo"])
    assert page.count("### Odo Farrant") == 1


def test_entities_that_are_skipped_leave_their_part_of_the_budget_to_the_others(weft: Weft) -> None:
    alone, _ = formatted(weft, entities=[ODO], max_total_tokens=300)
    nobody = [{"id": f"nobody {at}"} for at in range(4)]
    assert formatted(weft, entities=[*nobody, ODO], max_total_tokens=300)[0] == alone
    assert alone.count("\n- ") > 1


def test_a_preset_says_how_many_entities_are_told_of(weft: Weft) -> None:
    weft.put([Node(f"s:e{at}", "character", VAULT, title=f"Ann{at}", text=f"Ann{at} sang.") for at in range(12)])
    entities = [f"s:e{at}" for at in range(12)]
    assert formatted(weft, entities=entities)[0].count("\n### ") == 5
    assert formatted(weft, entities=entities, preset="timeline")[0].count("\n### ") == 10
    assert formatted(weft, entities=entities, preset="timeline", max_entities=3)[0].count("\n### ") == 3
