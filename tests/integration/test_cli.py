"""The command line on a healthy store: what each command prints, where, and with which exit code."""

import io
import json
import sqlite3
import sys
from pathlib import Path

import pytest
from command_line import EXAMPLES, Cli

from weft import __version__
from weft.tokens import counter_for

NOW = "2026-03-01T12:00:00Z"


def test_without_arguments_the_help_is_printed(cli: Cli) -> None:
    done = cli()
    assert done.code == 0
    assert "context" in done.out


def test_version_is_told_by_command_and_by_option(cli: Cli) -> None:
    assert cli("version").out == cli("--version").out == f"weft {__version__}\n"
    assert json.loads(cli("version", "--json").out) == {"version": __version__}


# --- index ---


def test_index_makes_a_store_in_the_working_folder_and_says_what_it_found(cli: Cli) -> None:
    done = cli("index", EXAMPLES / "novel")
    assert done.code == 0
    assert done.out.startswith("Indexed novel into .weft: ")
    assert Path(".weft", "weft.sqlite").is_file()


def test_a_second_index_touches_nothing(cli: Cli) -> None:
    cli("index", EXAMPLES / "novel")
    report = json.loads(cli("index", EXAMPLES / "novel", "--json").out)
    assert (report["units_changed"], report["written"], report["removed"]) == (0, 0, 0)


def test_index_names_the_source_and_the_tenant_as_told(cli: Cli) -> None:
    cli("index", EXAMPLES / "novel", "--source", "tide", "--tenant", "readers", "--embedder", "none")
    status = json.loads(cli("status", "--json").out)
    assert list(status["by_source"]) == ["tide"]
    assert list(status["by_tenant"]) == ["readers"]
    assert status["embedder"] is None


def test_a_store_of_an_earlier_model_is_asked_by_words_and_embedded_anew_on_request(cli: Cli, world: Path) -> None:
    with sqlite3.connect(Path(".weft", "weft.sqlite")) as connection:
        connection.execute("UPDATE meta SET value = '[\"weft-static-0\",256]' WHERE name = 'embedder'")
    asked = cli("context", "lighthouse")
    assert asked.code == 0
    assert "`weft reembed`" in asked.err
    doctor = cli("doctor")
    assert "weft reembed" in doctor.out + doctor.err
    done = json.loads(cli("reembed", "--json").out)
    status = json.loads(cli("status", "--json").out)
    assert done["embedded"] == status["vectors"] == status["passages"]
    assert done["embedder"] == status["embedder"] != "weft-static-0"
    assert cli("reembed").out.startswith("Nothing to do")
    assert "reembed" not in cli("context", "lighthouse").err


def test_remove_undoes_index(cli: Cli, world: Path) -> None:
    before = json.loads(cli("status", "--json").out)
    done = cli("remove", "novel")
    assert done.code == 0
    after = json.loads(cli("status", "--json").out)
    assert after["by_source"] == {"helpdesk": before["by_source"]["helpdesk"]}
    assert cli("doctor").code == 0
    cli("index", EXAMPLES / "helpdesk", "--store", "apart")
    assert after["by_edge_type"] == json.loads(cli("status", "--store", "apart", "--json").out)["by_edge_type"]
    assert cli("show", "Tamsin Roke").code == 2
    assert cli("index", EXAMPLES / "novel").code == 0
    assert json.loads(cli("status", "--json").out)["nodes"] == before["nodes"]


# --- context ---


def test_context_prints_the_text_alone_to_stdout_and_notes_to_stderr(cli: Cli, world: Path) -> None:
    done = cli("context", "Why were the boots dry?", "--max-tokens", 400)
    whole = json.loads(cli("context", "Why were the boots dry?", "--max-tokens", 400, "--json").out)
    assert done.code == 0
    assert done.out == whole["text"] + "\n"
    assert all(line.startswith("note: ") for line in done.err.splitlines())


def test_context_stays_within_the_budget_in_every_format(cli: Cli, world: Path) -> None:
    count, _ = counter_for("cl100k_base")
    for form in ("markdown", "xml", "plain", "json"):
        done = cli("context", "the true hours", "--max-tokens", 350, "--format", form)
        assert 0 < count.count(done.out.removesuffix("\n")) <= 350


def test_two_runs_print_the_same_bytes(cli: Cli, world: Path) -> None:
    words = ("context", "lantern", "--now", NOW, "--json")
    assert cli(*words).out == cli(*words).out


@pytest.mark.parametrize("name", ["Tamsin Roke", "novel:Characters/Tamsin Roke.md", "the new clerk"])
def test_an_argument_that_names_a_node_is_a_place_to_start(cli: Cli, world: Path, name: str) -> None:
    found = json.loads(cli("context", name, "--json").out)
    start = [entry for entry in found["ledger"] if entry["key"] == "novel:Characters/Tamsin Roke.md"]
    assert start[0]["distance"] == 0
    assert found["stats"]["nodes_searched"] == 1


def test_an_id_is_a_place_to_start(cli: Cli, world: Path) -> None:
    (node,) = json.loads(cli("show", "Tamsin Roke", "--json").out)
    found = json.loads(cli("context", node["id"], "--json").out)
    assert found["stats"]["nodes_searched"] == 1


def test_several_names_are_several_starts_and_anything_else_is_one_question(cli: Cli, world: Path) -> None:
    both = json.loads(cli("context", "Tamsin Roke", "Isaura Bell", "--json").out)
    asked = json.loads(cli("context", "Tamsin Roke", "drowned", "--format", "plain", "--json").out)
    assert both["stats"]["nodes_searched"] == 2
    assert "Tamsin Roke drowned" in asked["text"].splitlines()[0]


def test_a_dash_reads_the_question_from_stdin(cli: Cli, world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"boots\n")))
    assert cli("context", "-").out == cli("context", "boots").out


def test_explain_prints_the_ledger_after_the_text(cli: Cli, world: Path) -> None:
    plain = cli("context", "boots", "--max-tokens", 300)
    done = cli("context", "boots", "--max-tokens", 300, "--explain")
    table = done.out.removeprefix(plain.out).strip().splitlines()
    assert done.out.startswith(plain.out)
    assert table[0].split() == ["section", "title", "detail", "tokens", "score", "parts", "path", "reason", "key"]
    ledger = json.loads(cli("context", "boots", "--max-tokens", 300, "--json").out)["ledger"]
    assert len(table) == len(ledger) + 2
    assert all(entry["reason"] for entry in ledger)


def test_filters_hold(cli: Cli, world: Path) -> None:
    found = json.loads(cli("context", "tide", "--kind", "chapter", "--source", "novel", "--json").out)
    assert {entry["kind"] for entry in found["ledger"]} == {"chapter"}


def test_as_of_hides_what_is_told_later(cli: Cli, world: Path) -> None:
    early = json.loads(cli("context", "Odo Farrant", "drowned", "--as-of", 1, "--json").out)
    late = json.loads(cli("context", "Odo Farrant", "drowned", "--as-of", 6, "--json").out)
    secret = "novel:Characters/Odo Farrant's Secret.md"
    assert secret not in {entry["key"] for entry in early["ledger"]}
    assert secret in {entry["key"] for entry in late["ledger"]}


def test_tenants_are_read_as_told(cli: Cli, world: Path) -> None:
    found = json.loads(cli("context", "refund", "--tenant", "support", "--tenant", "finance", "--json").out)
    assert {entry["tenant"] for entry in found["ledger"]} <= {"support", "finance"}
    assert found["ledger"]


def test_a_profile_that_asks_by_itself_needs_no_question(cli: Cli, world: Path) -> None:
    assert cli("context", "--profile", "premortem", "--set", "domain=debugging").code == 0


def test_max_tokens_none_lifts_the_limit(cli: Cli, world: Path) -> None:
    found = json.loads(cli("context", "tide", "--max-tokens", "none", "--json").out)
    assert found["max_tokens"] is None


def test_the_json_of_a_context_has_the_documented_keys(cli: Cli, world: Path) -> None:
    found = json.loads(cli("context", "tide", "--json").out)
    documented = (EXAMPLES.parent / "docs" / "commands" / "ask.md").read_text(encoding="utf-8")
    names = {*found, *found["ledger"][0], *found["sources"][0], *found["manifest"][0]}
    assert [name for name in sorted(names) if f"`{name}`" not in documented] == []


# --- search, show, related, status ---


def test_search_lists_the_best_first(cli: Cli, world: Path) -> None:
    done = cli("search", "lantern", "company", "--limit", 3)
    results = json.loads(cli("search", "lantern", "company", "--limit", 3, "--json").out)["results"]
    assert len(done.out.splitlines()) == 4
    assert [each["score"] for each in results] == sorted((each["score"] for each in results), reverse=True)


def test_search_says_when_nothing_matches(cli: Cli, world: Path) -> None:
    done = cli("search", "zzyzx", "--match", "bm25")
    assert (done.code, done.out) == (0, "")
    assert "Nothing matches" in done.err


def test_show_prints_the_node_whole(cli: Cli, world: Path) -> None:
    done = cli("show", "novel:Characters/Tamsin Roke.md")
    (node,) = json.loads(cli("show", "Tamsin Roke", "--json").out)
    assert node["text"].strip() in done.out
    assert "key: novel:Characters/Tamsin Roke.md" in done.out


def test_related_lists_neighbours_with_their_links(cli: Cli, world: Path) -> None:
    done = cli("related", "Tamsin Roke", "--limit", 5)
    pairs = json.loads(cli("related", "Tamsin Roke", "--limit", 5, "--json").out)
    assert len(done.out.splitlines()) == len(pairs) + 1
    assert {"node", "edge"} == set(pairs[0])


def test_related_as_of_a_chapter_names_nothing_that_is_told_later(cli: Cli, world: Path) -> None:
    def titles(*options: object) -> set[str]:
        pairs = json.loads(cli("related", "Odo Farrant", "--limit", 100, "--json", *options).out)
        return {pair["node"]["title"] for pair in pairs}

    assert "Odo Farrant's Secret" in titles()
    assert "Odo Farrant's Secret" not in titles("--as-of", 2)
    assert titles("--as-of", 2)
    refused = cli("related", "Odo Farrant's Secret", "--as-of", 2)
    assert refused.code != 0


def test_status_counts_what_there_is(cli: Cli, world: Path) -> None:
    told = json.loads(cli("status", "--json").out)
    assert told["nodes"] == sum(told["by_kind"].values()) == sum(told["by_source"].values())
    assert told["index"]["lexical_sequence"] == told["sequence"]
    assert f"{told['nodes']} nodes" in cli("status").out
    only = json.loads(cli("status", "--tenant", "support", "--json").out)
    assert list(only["by_tenant"]) == ["support"]


# --- profiles ---


def test_profiles_are_listed_shown_checked_and_compared(cli: Cli) -> None:
    listed = {each["name"] for each in json.loads(cli("profile", "list", "--json").out)}
    assert {"general", "narrative", "notes"} <= listed
    assert all(name in cli("profile", "list").out for name in listed)
    assert 'name = "general"' in cli("profile", "show", "general").out
    assert cli("profile", "check", *sorted(listed)).code == 0
    assert "max_tokens" in cli("profile", "diff", "general", "narrative").out
    assert "say the same" in cli("profile", "diff", "general", "general").err


def test_a_profile_shown_can_be_saved_and_used(cli: Cli, world: Path) -> None:
    folder = world / "profiles"
    folder.mkdir()
    shown = cli("profile", "show", "general").out.replace('name = "general"', 'name = "mine"', 1)
    (folder / "mine.toml").write_text(shown.replace("max_tokens = 4000", "max_tokens = 123"), encoding="utf-8")
    assert cli("profile", "diff", "general", "mine").out.count("\n") == 2
    assert json.loads(cli("context", "tide", "--profile", "mine", "--json").out)["max_tokens"] == 123


def test_a_lens_in_the_users_folder_can_be_used(cli: Cli, world: Path) -> None:
    (world / "profiles").mkdir()
    (world / "profiles" / "near.lens.toml").write_text('walk = "breadth"\ndepth = 1\n', encoding="utf-8")
    assert cli("context", "Tamsin Roke", "--lens", "near").code == 0


# --- demo, doctor ---


def test_demo_prints_a_page_with_its_budget_and_sources(cli: Cli) -> None:
    done = cli("demo", "--max-tokens", 500)
    assert done.code == 0
    assert done.out.startswith("# ")
    assert "tokens (of 500)" in done.out
    assert not Path(".weft").exists()


def test_demo_copies_the_worlds_into_a_new_folder_and_never_over_one_that_is_there(cli: Cli) -> None:
    worlds = ["helpdesk", "novel", "repo", "vault"]
    assert json.loads(cli("demo", "--copy", "worlds", "--json").out) == {"folder": "worlds", "worlds": worlds}
    assert sorted(path.name for path in Path("worlds").iterdir()) == worlds
    assert not list(Path("worlds").rglob("__pycache__"))
    Path("worlds", "novel", "mine.md").write_text("# Mine\n")
    again = cli("demo", "--copy", "worlds")
    assert again.code == 2
    assert "worlds is there already. Name a folder that does not exist" in again.err
    assert Path("worlds", "novel", "mine.md").exists()


def test_demo_keeps_the_store_that_it_is_given(cli: Cli) -> None:
    assert cli("demo", "boots", "--store", "kept", "--json").code == 0
    assert cli("status", "--store", "kept").code == 0


def test_doctor_finds_a_sound_store_sound(cli: Cli, world: Path) -> None:
    checks = json.loads(cli("doctor", "--json").out)["checks"]
    assert {check["state"] for check in checks} == {"ok"}
    assert cli("doctor").code == 0


def test_nothing_is_coloured_in_a_pipe(cli: Cli, world: Path) -> None:
    for words in (("--help",), ("context", "boots", "--explain"), ("search", "boots"), ("profile", "list")):
        done = cli(*words)
        assert "\x1b" not in done.out + done.err
