"""Contexts are named by their content, kept beside the store, compared, and not repeated within a session."""

import sqlite3
import threading
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from weft import Context, Weft
from weft.errors import InvalidInput
from weft.history import Record, compare, make_record, rebuild_request
from weft.history.compare import _longest_rising
from weft.history.contexts import FILE_NAME, KEPT_CONTEXTS, History, from_bytes, to_bytes
from weft.history.sessions import Claims, recent_of
from weft.model import UNSET, Candidate, Detail, Filter, LedgerEntry, Node, Received, Request, Shown, Topic, View

NOW = datetime(2026, 5, 1, tzinfo=UTC)
LATER = datetime(2026, 6, 1, tzinfo=UTC)

NOTES = {
    "harbour.md": "# Harbour\n\nThe harbour master counts the boats at dawn. See [[Ledger]].\n",
    "ledger.md": "# Ledger\n\nThe ledger of the harbour lists every boat by its owner.\n",
    "storm.md": "# Storm\n\nThe storm took three boats from the harbour.\n",
}


def write(folder: Path, notes: dict[str, str]) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in notes.items():
        (folder / name).write_text(text, encoding="utf-8")


@pytest.fixture
def weft(tmp_path: Path) -> Weft:
    write(tmp_path / "notes", NOTES)
    opened = Weft.open(tmp_path / ".weft", embedder=None)
    opened.index(tmp_path / "notes")
    return opened


def ask(weft: Weft, question: str = "boats in the harbour", **more: object) -> Context:
    return weft.context(question, now=NOW, keep=True, **more)  # type: ignore[arg-type]


def printed(context: Context) -> list[str]:
    return [entry.key for entry in context.ledger if entry.detail is not Detail.DROPPED]


# --- ids ---


def test_the_same_question_over_the_same_store_has_the_same_id(weft: Weft) -> None:
    assert ask(weft).id == ask(weft).id == weft.context("boats in the harbour", now=NOW).id


def test_another_question_text_or_budget_has_another_id(weft: Weft, tmp_path: Path) -> None:
    first = ask(weft)
    assert len({first.id, ask(weft, "boats").id, ask(weft, max_tokens=200).id, ask(weft, format="xml").id}) == 4
    write(tmp_path / "notes", {"storm.md": "# Storm\n\nThe storm took four boats from the harbour.\n"})
    weft.index(tmp_path / "notes")
    assert ask(weft).id != first.id


def test_candidates_brought_by_the_caller_are_a_part_of_what_was_asked(weft: Weft) -> None:
    brought = [Candidate(Node(f"mine:{each}", "note", title=each, text=each), 0.5) for each in ("one", "two")]
    ids = {weft.context("q", candidates=some, now=NOW).id for some in (brought, brought[:1], brought[::-1])}
    assert len(ids) == 3


# --- keeping ---


def test_a_kept_context_is_found_by_its_id_or_the_beginning_of_it(weft: Weft) -> None:
    context = ask(weft)
    record = weft.contexts.find(context.id[:6])
    assert (record.id, record.hash, record.tokens, record.notes) == (
        context.id,
        context.hash,
        context.tokens,
        context.notes,
    )
    assert record.ledger == context.ledger
    assert [each["key"] for each in record.manifest] == [each.key for each in context.manifest]


def test_without_keep_nothing_is_written(weft: Weft, tmp_path: Path) -> None:
    weft.context("boats", now=NOW)
    assert not (tmp_path / ".weft" / FILE_NAME).exists()
    assert weft.recent() == ()


@pytest.mark.parametrize("name", ["", "zzz", "ffffffffffffffff", "%", "' OR 1=1 --", "x\0y"])
def test_an_unknown_id_is_refused_with_the_latest_ones(weft: Weft, name: str) -> None:
    context = ask(weft)
    with pytest.raises(InvalidInput, match=context.id):
        weft.contexts.find(name)


def test_the_oldest_contexts_make_room(weft: Weft, tmp_path: Path) -> None:
    small = History(tmp_path, max_contexts=3)
    ids = [ask(weft, max_tokens=budget).id for budget in (200, 300, 400, 500, 600)]
    for id in ids:
        small.keep(weft.contexts.find(id), None, {})
    assert [record.id for record in small.recent(10)] == ids[:1:-1]
    assert KEPT_CONTEXTS >= 100


def test_an_owner_of_sessions_pushes_out_only_its_own_contexts(weft: Weft, tmp_path: Path) -> None:
    small = History(tmp_path, max_contexts=2)
    records = [weft.contexts.find(ask(weft, max_tokens=budget).id) for budget in (200, 300, 400, 500)]
    small.keep(records[0], "ours/session", {})
    for record in records[1:]:
        small.keep(record, "theirs/session", {})
    assert recent_of(small, "ours/", 10) == (records[0],)
    assert recent_of(small, "theirs/", 10) == (records[3], records[2])
    assert small.recent(10) == (records[3], records[2], records[0])


def test_a_file_without_owners_is_read_and_gets_them(weft: Weft, tmp_path: Path) -> None:
    record = weft.contexts.find(ask(weft).id)
    old = History(tmp_path)
    old.keep(record, "ours/session", {})
    old.close()
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as connection:
        connection.executescript(
            "DROP INDEX contexts_by_owner; ALTER TABLE contexts DROP COLUMN owner; PRAGMA user_version = 2;"
        )
    assert old.recent(10) == (record,)
    assert recent_of(old, "ours/", 10) == ()
    old.keep(replace(record, id="another"), "ours/session", {})
    assert [each.id for each in recent_of(old, "ours/", 10)] == ["another"]


def test_reading_kept_contexts_does_not_wait_for_the_stores_writer(weft: Weft) -> None:
    context = ask(weft)
    with weft.store.writing():
        assert weft.contexts.find(context.id).id == context.id
        assert ask(weft, "ledger").id


def test_a_damaged_file_of_contexts_spoils_no_context(weft: Weft, tmp_path: Path) -> None:
    (tmp_path / ".weft" / FILE_NAME).write_bytes(b"no database at all" * 100)
    context = ask(weft)
    assert context.text
    assert any("not kept" in note and "delete it" in note for note in context.notes)
    answer = ask(weft, session="s")
    assert answer.text
    assert any("nothing is left out" in note for note in answer.notes)


def test_a_file_of_contexts_from_a_newer_version_is_left_alone(weft: Weft, tmp_path: Path) -> None:
    ask(weft)
    weft.contexts.close()
    connection = sqlite3.connect(tmp_path / ".weft" / FILE_NAME)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    assert any("newer" in note for note in ask(weft, "ledger").notes)


def test_a_file_that_another_process_is_just_making_holds_nothing_yet(weft: Weft) -> None:
    file = weft.contexts.file
    with closing(sqlite3.connect(file)) as being_made:
        being_made.execute("PRAGMA journal_mode = WAL")
        page = weft.context("boats", session="first", now=NOW)
        assert not [note for note in page.notes if "kept" in note or "unknown" in note]
        assert History(file.parent).recent(5)[0].id == page.id


def test_many_threads_keep_contexts_at_once(weft: Weft) -> None:
    failed: list[tuple[str, ...]] = []

    def work(number: int) -> None:
        for turn in range(5):
            notes = ask(weft, f"boats {number} {turn}", session="shared").notes
            failed.extend([notes] if any("not kept" in note for note in notes) else [])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert len(weft.recent(100)) == 20


# --- asking again ---


def test_every_field_of_a_request_survives_keeping() -> None:
    request = Request(
        question="q",
        history=("earlier",),
        start=("a", "b"),
        topics=(Topic("x", ("y",), 0.6), Topic("z")),
        profile="notes",
        preset="p",
        lens="coding",
        depth=3,
        max_tokens=None,
        format="xml",
        include_fields=False,
        floor=0.4,
        filter=Filter(("k",), ("t",), ("s",), (("n", "v"),), NOW, LATER, 1, 2),
        view=View(("x", "y"), 7),
        parameters={"domain": "billing"},
        token_model="o200k_base",
        guard=True,
    )
    plain = set(Request.__struct_fields__) - {"candidates", "received"}
    assert {name for name in plain if getattr(request, name) != getattr(Request(), name)} == plain
    assert rebuild_request(kept(request)) == request
    assert rebuild_request(kept(Request("q"))) == Request("q", max_tokens=UNSET)


def kept(request: Request) -> Record:
    from weft.history.contexts import plain_request

    record = Record("id", "", "", 0, None, "", plain_request(request), (), (), {})
    return from_bytes(to_bytes(record))


def test_a_context_of_brought_candidates_cannot_be_asked_again(weft: Weft) -> None:
    context = ask(weft, candidates=[Candidate(Node("mine:1", "note", title="One", text="one"), 0.5)])
    with pytest.raises(InvalidInput, match="candidates that the caller brought"):
        weft.since(context.id)


# --- comparing ---


def test_a_context_does_not_differ_from_itself(weft: Weft) -> None:
    context = ask(weft)
    found = weft.diff(context.id, context.id)
    assert (found.same, found.asked, found.changes) == (True, (), ())
    assert found.unchanged == len(printed(context))


def test_since_tells_what_appeared_vanished_and_changed_and_why(weft: Weft, tmp_path: Path) -> None:
    before = ask(weft)
    folder = tmp_path / "notes"
    write(folder, {"wreck.md": "# Wreck\n\nA wreck in the harbour holds two boats.\n"})
    write(folder, {"ledger.md": "# Ledger\n\nThe ledger of the harbour lists every boat and its debts.\n"})
    (folder / "storm.md").unlink()
    weft.index(folder)
    found, context = weft.since(before.id, NOW)
    reasons = {(change.what, change.key): change.why for change in found.changes}
    assert "not found then; score" in reasons["appeared", "notes:wreck.md"]
    assert "not found now; then score" in reasons["vanished", "notes:storm.md"]
    assert reasons["changed", "notes:ledger.md"].startswith("its content changed")
    assert weft.diff(before.id, context.id).changes == found.changes


def test_what_a_smaller_budget_takes_away_is_told_with_the_ledgers_reason(weft: Weft) -> None:
    large, small = ask(weft, max_tokens=4000), ask(weft, max_tokens=40)
    found = weft.diff(large.id, small.id)
    assert found.asked == ("max_tokens: 4000 → 40",)
    assert found.changes
    reasons = {entry.key: entry.reason for entry in small.ledger}
    for change in found.changes:
        assert change.what in ("vanished", "changed")
        assert reasons[change.key] in change.why


def entry(key: str, score: float, section: str = "s") -> LedgerEntry:
    return LedgerEntry(
        key, 1, "note", key.upper(), "default", section, score, {"relevance": score}, None, 0, (), Detail.WHOLE,
        9, "", key,
    )  # fmt: skip


def page(*entries: LedgerEntry) -> Record:
    return Record("id", "", "", 0, None, "", {}, (), entries, {})


def test_the_one_that_moved_is_told_with_the_parts_that_moved_it() -> None:
    before = page(entry("a", 0.9), entry("b", 0.8), entry("c", 0.7), entry("d", 0.6))
    after = page(entry("d", 0.95), entry("a", 0.9), entry("b", 0.8), entry("c", 0.7))
    (change,) = compare(before, after).changes
    assert (change.what, change.key) == ("moved", "d")
    assert change.why == "score 0.600 → 0.950 (relevance 0.60 → 0.95)"


def test_a_change_of_section_is_a_move() -> None:
    (change,) = compare(page(entry("a", 0.9, "one")), page(entry("a", 0.9, "two"))).changes
    assert change.why == "from section 'one' to 'two'"


@given(st.lists(st.integers(0, 50), unique=True, max_size=12))
def test_the_rising_run_is_as_long_as_any(numbers: list[int]) -> None:
    found = _longest_rising(numbers)
    chosen = [numbers[index] for index in found]
    assert found == sorted(found)
    assert chosen == sorted(chosen)
    lengths: list[int] = []
    for index, number in enumerate(numbers):
        lengths.append(1 + max((lengths[at] for at in range(index) if numbers[at] < number), default=0))
    assert len(found) == max(lengths, default=0)


# --- sessions ---


def test_a_session_is_not_shown_again_what_it_received(weft: Weft) -> None:
    first = ask(weft, session="morning")
    second = ask(weft, session="morning")
    assert printed(first)
    assert printed(second) == []
    assert {entry.reason for entry in second.ledger} == {"already received in session morning"}
    assert "were already received in session morning, and left out here." in second.text
    assert any("already received in session morning" in note for note in second.notes)
    assert "No matching" not in second.text
    assert printed(ask(weft, session="evening")) == printed(first)


def test_what_changed_since_is_shown_again(weft: Weft, tmp_path: Path) -> None:
    ask(weft, session="s")
    write(tmp_path / "notes", {"storm.md": "# Storm\n\nThe storm took four boats from the harbour.\n"})
    weft.index(tmp_path / "notes")
    assert printed(ask(weft, session="s")) == ["notes:storm.md"]


def test_a_pointer_is_not_received(weft: Weft) -> None:
    first = ask(weft, session="s", profile="notes", max_tokens=200)
    assert {entry.detail for entry in first.ledger} <= {Detail.POINTER, Detail.DROPPED}
    assert set(printed(first)) <= set(printed(ask(weft, session="s", profile="notes", max_tokens=4000)))


def test_a_part_that_was_not_shown_is_shown_later(tmp_path: Path) -> None:
    filler = "Nothing of note happened on that day, and the log says so at length.\n\n" * 40
    text = f"# Log\n\n{filler}The anchor was lost at noon.\n\n{filler}The parrot learned to swear.\n\n{filler}"
    write(tmp_path / "notes", {**NOTES, "log.md": text})
    with Weft.open(tmp_path / ".weft", embedder=None) as weft:
        weft.index(tmp_path / "notes")
        assert "anchor was lost" in ask(weft, "lost anchor", session="s", max_tokens=300).text
        assert "parrot learned" in ask(weft, "swearing parrot", session="s", max_tokens=300).text
        assert "anchor was lost" not in ask(weft, "lost anchor", session="s", max_tokens=300).text


def test_a_session_page_keeps_to_its_budget_in_every_format(weft: Weft) -> None:
    for form in ("markdown", "xml", "plain", "json"):
        for budget in (1, 20, 60, 300):
            ask(weft, session=form, max_tokens=300, format=form)
            assert ask(weft, session=form, max_tokens=budget, format=form).tokens <= budget


def test_what_another_tenant_received_leaves_out_nothing_of_ours(tmp_path: Path) -> None:
    write(tmp_path / "notes", NOTES)
    with Weft.open(tmp_path / ".weft", embedder=None) as weft:
        for tenant in ("ours", "theirs"):
            weft.index(tmp_path / "notes", tenant=tenant)
        ask(weft, session="s", tenants=["theirs"])
        fresh = ask(weft, tenants=["ours"])
        assert printed(ask(weft, session="s", tenants=["ours"])) == printed(fresh)


def test_parts_of_subjects_are_not_shown_again_either(weft: Weft) -> None:
    node = weft.show("Storm")[0]
    received = Received("s", {("default", node.key): Shown("other content")})
    request = Request("boats", received=received)
    changed = weft.assemble(request, NOW)
    assert node.key in printed(changed)
    from weft.history import fingerprint

    known = replace(received, nodes={("default", node.key): Shown(fingerprint(node))})
    context = weft.assemble(replace(request, received=known), NOW)
    assert node.key not in printed(context)
    assert make_record(context, request, NOW).id == context.id


# --- claims ---


def test_a_claim_is_new_to_each_session_once(tmp_path: Path) -> None:
    history = History(tmp_path)
    assert Claims(history).claimants("a") == ()
    assert [Claims(history).claim(session, "a") for session in ("s", "s", "t")] == [True, False, True]
    assert Claims(history).claim("s", "b")
    assert (Claims(history).claimants("a"), Claims(history).claimants("b")) == (("s", "t"), ("s",))


def test_of_many_who_claim_at_once_one_gets_it(tmp_path: Path) -> None:
    given: list[bool] = []
    threads = [
        threading.Thread(target=lambda: given.append(Claims(History(tmp_path)).claim("s", "premortem")))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(given) == [False] * 7 + [True]


def test_the_claims_of_forgotten_sessions_go_with_them(tmp_path: Path) -> None:
    history = History(tmp_path, max_sessions=2)
    for session in ("one", "two", "three"):
        Claims(history).claim(session, "a")
    assert Claims(history).claimants("a") == ("three", "two")
