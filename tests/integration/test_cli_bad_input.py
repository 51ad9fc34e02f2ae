"""The command line on bad input: one clear line, the right exit code, never a traceback, nothing half-done."""

import io
import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from command_line import EXAMPLES, Cli

import weft
from weft import config
from weft.indexing.ingest import Progress
from weft.interfaces.cli import index
from weft.interfaces.cli.output import show_progress
from weft.tokens import counter_for

SOURCE = str(Path(weft.__file__).parents[1])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["context", ""], ["question is empty", "weft context"]),
        (["context"], ["question is empty"]),
        (["context", " \t\n"], ["question is empty"]),
        (["search", " "], ["question is empty"]),
        (["search", "x", "--path", "src"], ["'path' goes with an exact search"]),
        (["context", "x", "--profile", "nots"], ["'nots'", "Did you mean 'notes'", "general"]),
        (["context", "x", "--lens", "genera"], ["'genera'", "Did you mean 'general'"]),
        (["context", "x", "--kind", "chaptr"], ["'chaptr'", "Did you mean 'chapter'", "character"]),
        (["context", "x", "--source", "novl"], ["'novl'", "Did you mean 'novel'"]),
        (["context", "x", "--format", "markdwn"], ["'markdwn'", "Did you mean 'markdown'", "xml"]),
        (["context", "x", "--preset", "fast"], ["'fast'"]),
        (["context", "x", "--set", "domain"], ["'domain'", "NAME=VALUE"]),
        (["context", "x", "--set", "domain=x"], ["'domain'"]),
        (["context", "x", "--max-tokens", "0"], ["0 tokens", "1 or more"]),
        (["context", "x", "--max-tokens", "-5"], ["'-5'", "none"]),
        (["context", "x", "--max-tokens", "many"], ["'many'", "none"]),
        (["context", "x", "--depth", "99"], ["99", "1 to 5"]),
        (["context", "x", "--depth", "deep"], ["--depth", "--help"]),
        (["context", "x", "--as-of", "Slack Water"], ["'Slack Water'", "number", "chapter"]),
        (["context", "x", "--as-of", "-1"], ["-1", "number of a chapter"]),
        (["show", "Pellwick", "--as-of", "-1"], ["-1", "number of a chapter"]),
        (["entities", "list", "--as-of", "9" * 30], ["9" * 30, "number of a chapter"]),
        (["context", "x", "--now", "yesterday"], ["'yesterday'", "ISO 8601"]),
        (["context", "x", "--embedder", "statik"], ["'statik'", "Did you mean 'static'"]),
        (["search", "x", "--limit", "0"], ["0"]),
        (["search", "x", "--match", "fuzzy"], ["fuzzy", "hybrid"]),
        (["show", "Nobody At All"], ["'Nobody At All'", "weft search"]),
        (["related", "Nobody At All"], ["'Nobody At All'"]),
        (["remove", "novl"], ["'novl'", "Did you mean 'novel'"]),
        (["index"], ["PATH", "weft index ."]),
        (["keys", "create"], ["weft keys create --tenant support"]),
        (["cluster", "status"], ["no cluster", "shard=NAME"]),
        (["index", "missing"], ["'missing'"]),
        (["index", "missing\0"], ["missing"]),
        (["index", ".", "--source", "a/b"], ["'a/b'"]),
        (["contxt", "x"], ["'contxt'", "context"]),
        (["contxt", "who keeps the key?"], ["'contxt'", "Did you mean 'context'"]),
        (["how", "does", "the tide", "work?"], ["weft context 'how does the tide work?'"]),
        (["context", "x", "--dept", "2"], ["--dept", "--help"]),
        (["profile", "show", "nots"], ["'nots'", "notes"]),
        (["profile", "diff", "general", "nots"], ["'nots'"]),
        (["profile", "check", "missing.toml"], ["missing.toml"]),
    ],
)
def test_bad_input_is_named_with_what_is_allowed(cli: Cli, world: Path, words: list[str], told: list[str]) -> None:
    done = cli(*words)
    assert done.code == 2
    assert done.out == ""
    assert done.err.startswith("weft: ")
    assert "Traceback" not in done.err
    assert [part for part in told if part not in done.err] == []


def test_a_file_that_is_newer_than_the_store_is_found_without_a_word_about_an_empty_store(cli: Cli) -> None:
    assert "Nothing that Weft reads" in cli("index", ".").err
    Path("keys.md").write_text("# Keys\n\nMara keeps the key.\n", "utf-8")
    found = cli("search", "key")
    assert "keys.md:1" in found.out
    assert "holds nothing" not in found.err


def test_a_misspelt_client_is_told_the_known_one_beside_what_to_add(cli: Cli) -> None:
    printed = cli("install", "clade-code")
    assert printed.code == 0 and '"mcpServers"' in printed.out
    assert "Did you mean 'claude-code'?" in printed.err
    assert "Did you mean" not in cli("install", "zed").err


def test_a_history_without_commits_says_where_they_come_from(cli: Cli) -> None:
    Path("oven.py").write_text("def preheat():\n    return 180\n", "utf-8")
    cli("index", ".")
    assert "no commit in the store touched it" in cli("log", "preheat").out


def test_a_profile_with_problems_is_told_all_of_them(cli: Cli) -> None:
    Path("bad.toml").write_text('name = "bad"\nmax_token = 1\nformt = "xml"\n', encoding="utf-8")
    done = cli("profile", "check", "bad.toml")
    assert done.code == 2
    assert "max_token" in done.out
    assert "formt" in done.out


def test_an_unknown_tenant_is_a_note_and_not_an_error(cli: Cli, world: Path) -> None:
    done = cli("context", "refund", "--tenant", "suport")
    assert done.code == 0
    assert "'suport' holds nothing" in done.err
    assert "support" in done.err


def test_a_budget_below_the_smallest_page_gives_no_text_and_says_why(cli: Cli, world: Path) -> None:
    done = cli("context", "boots", "--max-tokens", 3)
    assert (done.code, done.out) == (0, "")
    assert "too small" in done.err


def test_control_characters_in_a_question_do_no_harm(cli: Cli, world: Path) -> None:
    done = cli("context", "boots\x00\x1b[31m\x07 dry")
    assert done.code == 0
    assert "\x1b" not in done.out
    assert "\x00" not in done.out


def test_a_huge_question_still_gets_its_page(cli: Cli, world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    huge = b"why were the boots dry? " * 150_000
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(huge)))
    done = cli("context", "-", "--max-tokens", 500)
    count, _ = counter_for("cl100k_base")
    assert done.code == 0
    assert "boots" in done.out
    assert count.count(done.out.removesuffix("\n")) <= 500


# --- indexing what cannot be read ---


def test_a_malformed_record_is_skipped_with_its_line_and_the_rest_is_indexed(cli: Cli) -> None:
    Path("facts.jsonl").write_text('{"key": "a", "text": "one"}\n{broken\n{"key": "b", "text": "two"}\n', "utf-8")
    done = cli("index", "facts.jsonl")
    assert done.code == 3
    assert "facts.jsonl:2" in done.err
    assert json.loads(cli("status", "--json").out)["nodes"] == 2


def test_only_some_problems_are_shown_but_json_has_them_all(cli: Cli) -> None:
    Path("facts.jsonl").write_text('{"key": "a", "text": "one"}\n' + "{broken\n" * 33, "utf-8")
    done = cli("index", "facts.jsonl", "--store", "first")
    assert done.err.count("facts.jsonl:") == 20
    assert "and 13 more" in done.err
    result = cli("index", "facts.jsonl", "--store", "second", "--json")
    assert result.code == 3
    assert len(json.loads(result.out)["problems"]) == 33


def test_files_that_are_binary_broken_or_huge_do_not_stop_the_others(cli: Cli) -> None:
    folder = Path("notes")
    folder.mkdir()
    (folder / "good.md").write_text("# Good\n\nReadable.\n", encoding="utf-8")
    (folder / "binary.md").write_bytes(b"\x00\x01\x02" * 1000)
    (folder / "broken.md").write_bytes(b"# Broken\n\ncaf\xe9 \xff\xfe\n")
    (folder / "huge.md").write_bytes(b"word " * 10_500_000)
    done = cli("index", "notes")
    assert done.code == 3
    assert [name for name in ("binary.md", "broken.md", "huge.md") if name not in done.err] == []
    assert cli("show", "Good").code == 0


def test_one_missing_path_stops_the_whole_command_before_anything_is_written(cli: Cli) -> None:
    done = cli("index", EXAMPLES / "novel", "missing")
    assert done.code == 2
    assert not Path(".weft").exists()


def test_two_folders_that_would_share_a_name_are_refused(cli: Cli) -> None:
    for folder in ("a/docs", "b/docs"):
        Path(folder).mkdir(parents=True)
    done = cli("index", "a/docs", "b/docs")
    assert done.code == 2
    assert "--source" in done.err
    assert not Path(".weft").exists()


@contextmanager
def _interrupted(stage: str) -> Iterator[Progress]:
    def stop(stage: str, done: int, total: int | None) -> None:
        if stage.startswith("reading") and done > 1:
            os.kill(os.getpid(), signal.SIGINT)

    # Whoever runs the tests in the background may have told them to ignore interrupts.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_interrupted_index_is_whole_and_goes_on_next_time(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [json.dumps({"key": f"n{number}", "text": f"Note {number} of many."}) for number in range(5_000)]
    Path("many.jsonl").write_text("\n".join(lines), encoding="utf-8")
    with monkeypatch.context() as patched:
        patched.setattr(index, show_progress.__name__, _interrupted)
        done = cli("index", "many.jsonl", "--embedder", "none")
    assert done.code == 130
    assert "Nothing is half-written" in done.err
    assert cli("doctor").code == 0
    assert 0 < json.loads(cli("status", "--json").out)["nodes"] < 5_000
    assert cli("index", "many.jsonl", "--embedder", "none").code == 0
    assert json.loads(cli("status", "--json").out)["nodes"] == 5_000


# --- stores that are not as they should be ---


def test_without_a_store_the_error_says_where_was_looked_and_how_to_make_one(cli: Cli) -> None:
    done = cli("context", "x")
    assert done.code == 4
    assert "weft index PATH" in done.err
    assert not Path(".weft").exists()


def test_a_named_store_that_is_not_there_is_not_made_by_asking(cli: Cli) -> None:
    refused = cli("context", "x", "--store", "nowhere")
    assert refused.code == 4
    assert "weft index PATH --store nowhere" in refused.err
    assert cli("doctor", "--store", "nowhere").code == 4
    assert not Path("nowhere").exists()


def _newer(store: Path) -> None:
    connection = sqlite3.connect(store / "weft.sqlite")
    connection.execute("PRAGMA user_version = 999")
    connection.commit()
    connection.close()


def _corrupt(store: Path) -> None:
    (store / "weft.sqlite-wal").unlink(missing_ok=True)
    (store / "weft.sqlite-shm").unlink(missing_ok=True)
    (store / "weft.sqlite").write_bytes(b"this is no database" * 1000)


@pytest.mark.parametrize(("spoil", "told"), [(_newer, "999"), (_corrupt, "weft.sqlite")])
@pytest.mark.parametrize("words", [["context", "x"], ["index", "."], ["status"], ["show", "x"]])
def test_a_newer_or_corrupt_store_is_refused(
    cli: Cli, world: Path, spoil: object, told: str, words: list[str]
) -> None:
    assert callable(spoil)
    spoil(world)
    done = cli(*words)
    assert done.code == 4
    assert told in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(("spoil", "told"), [(_newer, "999"), (_corrupt, "weft.sqlite")])
def test_doctor_tells_of_a_newer_or_corrupt_store(cli: Cli, world: Path, spoil: object, told: str) -> None:
    assert callable(spoil)
    spoil(world)
    done = cli("doctor", "--repair")
    assert done.code == 4
    (problem,) = [line for line in done.out.splitlines() if line.startswith("problem")]
    assert told in problem
    if spoil is _newer:
        *_, advice = done.out.splitlines()
        assert advice == "Type next, because of store: pip install --upgrade weft-context"


def test_a_folder_with_nothing_to_read_is_said_to_be_one(cli: Cli) -> None:
    Path("empty").mkdir()
    done = cli("index", "empty")
    assert done.code == 0
    assert done.out == ""
    assert "Nothing that Weft reads was found in empty" in done.err


def test_doctor_repairs_what_is_derived(cli: Cli, world: Path) -> None:
    page = cli("context", "boots", "--now", "2026-03-01").out
    connection = sqlite3.connect(world / "weft.sqlite")
    connection.execute("UPDATE term_statistics SET frequency = frequency + 7")
    connection.commit()
    connection.close()
    for part in (world / "derived").rglob("*"):
        if part.is_file():
            part.write_bytes(b"spoiled")
    sick = cli("doctor")
    assert sick.code == 4
    assert "--repair" in sick.out
    assert cli("doctor", "--repair").code == 0
    assert cli("doctor").code == 0
    assert cli("context", "boots", "--now", "2026-03-01").out == page


def test_vectors_of_another_embedder_are_left_out_with_what_to_do(cli: Cli, world: Path) -> None:
    connection = sqlite3.connect(world / "weft.sqlite")
    connection.execute("""UPDATE meta SET value = '["other-model",256]' WHERE name = 'embedder'""")
    connection.commit()
    connection.close()
    done = cli("context", "boots")
    assert done.code == 0
    assert "other-model" in done.err
    assert "weft reembed" in done.err
    assert cli("doctor").code == 4
    assert cli("context", "boots", "--embedder", "none").code == 0


# --- the process itself ---


def _spawn(*words: str | bytes, **options: object) -> "subprocess.CompletedProcess[bytes]":
    around = {**os.environ, "PYTHONPATH": SOURCE}
    command = [sys.executable, "-m", "weft", *words]
    return subprocess.run(command, stderr=subprocess.PIPE, env=around, check=False, **options)  # type: ignore[call-overload, no-any-return]


def test_broken_utf8_on_the_command_line_is_replaced(world: Path) -> None:
    done = _spawn("context", b"boots \xff\xfe dry", "--store", str(world), stdout=subprocess.PIPE)
    assert done.returncode == 0
    assert "boots" in done.stdout.decode("utf-8")
    assert b"Traceback" not in done.stderr


def test_a_reader_that_went_away_is_no_error(world: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = _spawn("context", "boots", "--store", str(world), stdout=writing)
    os.close(writing)
    assert done.returncode == 0
    assert b"Error" not in done.stderr
    assert b"Traceback" not in done.stderr


_AS_GUEST = """
import os, sys
import weft.indexing.ingest, weft.sources
from weft.interfaces.cli import make_app, run
store = sys.argv[1]
make_app(False)
commands = [["context", "boots", "--store", store], ["doctor", "--store", store]]
for words in commands:
    run(words)  # loads all that is needed, while the superuser may still read it
if os.geteuid() == 0:
    os.setuid(65534)
codes = [run(words) for words in [*commands, ["index", store + "/profiles", "--store", store]]]
sys.stdout.write(f"codes {codes}")
"""


def test_a_store_that_takes_no_writes_answers_and_says_so(made: Path, open_folder: Path) -> None:
    store = open_folder / "store"
    store.mkdir()
    (store / "profiles").mkdir()
    (store / "profiles" / "note.md").write_text("# New\n\nText.\n", encoding="utf-8")
    (store / "weft.sqlite").write_bytes((made / "weft.sqlite").read_bytes())
    assert _spawn("doctor", "--repair", "--store", str(store), stdout=subprocess.PIPE).returncode == 0
    for part in (*store.rglob("*"), store):
        part.chmod(0o555 if part.is_dir() else 0o444)
    around = {**os.environ, "PYTHONPATH": os.pathsep.join([SOURCE, *sys.path])}
    done = subprocess.run(
        [sys.executable, "-c", _AS_GUEST, str(store)], capture_output=True, text=True, env=around, check=False
    )
    assert done.stdout.endswith("codes [0, 0, 4]"), done.stderr
    assert "can only be read: questions are answered" in done.stdout
    assert "--store" in done.stderr.splitlines()[-1]


def test_an_unexpected_error_is_one_line_and_debug_shows_where(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("the moon is in the way")

    monkeypatch.setattr(config, "open_weft", fail)
    quiet, loud = cli("status"), cli("status", "--debug")
    assert quiet.code == loud.code == 1
    assert quiet.err.count("\n") == 1
    assert "the moon is in the way" in quiet.err
    assert "--debug" in quiet.err
    assert "Traceback" in loud.err
