"""The forms that Obsidian, its plugins and Logseq give to notes, over the vault in examples/ and small ones."""

import json
import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from weft import Weft
from weft.indexing.not_read import explain
from weft.model import Filter, Node
from weft.ports import Changes, Unit
from weft.sources import open_source
from weft.sources.notes.tasks import find_tasks
from worlds import own_fields

VAULT = Path(__file__).parents[4] / "examples" / "vault"
BLOCK = "65b7a3d0-1234-4abc-9def-0123456789ab"


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def units(folder: Path) -> dict[str, Unit]:
    source = open_source(str(folder), name="v", file_times=False)
    return {name: source.read(name) for name, _ in list(source.units())}


def edges(unit: Unit, kind: str = "") -> list[tuple[str, str]]:
    return [(edge.source[2:], edge.target[2:]) for edge in unit.edges if edge.type == kind or not kind]


@pytest.fixture(scope="module")
def vault() -> dict[str, Unit]:
    return units(VAULT)


@pytest.fixture(scope="module")
def weft(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Weft]:
    with Weft.open(tmp_path_factory.mktemp("vault")) as opened:
        opened.index(VAULT, source="v")
        yield opened


def node(vault: dict[str, Unit], name: str) -> Node:
    return vault[name].nodes[0]


# --- the example vault ---


def test_the_vault_reads_without_problems_and_only_notes_that_nobody_wrote_yet_are_missing(
    vault: dict[str, Unit],
) -> None:
    assert [problem for unit in vault.values() for problem in unit.problems] == []
    keys = {each.key for unit in vault.values() for each in unit.nodes}
    missing = {edge.target for unit in vault.values() for edge in unit.edges} - keys
    assert missing == {"v:Hollow Tubes Ltd.md", "v:Tension meter.md"}


def test_comments_and_queries_are_not_printed_and_the_lines_below_keep_their_numbers(
    vault: dict[str, Unit],
) -> None:
    text = node(vault, "Projects/Cargo bike.md").text
    assert "newsletter" not in text
    assert "dataview" not in text
    written = (VAULT / "Projects/Cargo bike.md").read_text("utf-8").split("\n")
    first = node(vault, "Projects/Cargo bike.md").origin.first_line or 0
    heading = text.split("\n").index("## Open work")
    assert written[first + heading - 1] == "## Open work"


@pytest.mark.parametrize("format", ["markdown", "plain", "xml"])
def test_hidden_comments_and_queries_leave_one_blank_line_and_the_manifest_names_the_right_lines(
    tmp_path: Path, format: str
) -> None:
    code = "```python\nfirst = 1\n\n\nsecond = 2\n```"
    text = (
        f"Kept #garden\n\n%% one %%\n\n%% two\nthree %%\n\n```dataview\nLIST\n```\n\nBelow\n\n{code}\n\n\nLast\n"
    )
    write(tmp_path / "vault", **{"Garden.md": text})
    with Weft.open(tmp_path / "store") as opened:
        opened.index(tmp_path / "vault", source="v")
        context = opened.context("Garden", format=format)
    assert f"Kept #garden\n\nBelow\n\n{code}\n\nLast" in context.text
    printed, written, named = context.text.split("\n"), text.split("\n"), 0
    for entry in context.manifest:
        if entry.verbatim and entry.source_first_line and entry.source_last_line:
            lines = written[entry.source_first_line - 1 : entry.source_last_line]
            assert printed[entry.first_line - 1 : entry.last_line] == lines
            named += len(lines)
    assert named == 12


def test_a_query_links_to_the_notes_that_it_names(tmp_path: Path) -> None:
    notes = units(write(tmp_path, **{"A.md": "```dataview\nLIST FROM [[B]]\n```\n", "B.md": "x"}))
    assert edges(notes["A.md"], "queries") == [("A.md", "B.md")]


def test_inline_fields_and_properties_are_fields_and_typed_links(vault: dict[str, Unit]) -> None:
    bike = vault["Projects/Cargo bike.md"]
    assert own_fields(bike.nodes[0]) == {
        "budget": "640 euros",
        "due": "2026-05-15",
        "owner": "Ada Brandt",
        "status": "active",
        "supplier": "Hollow Tubes Ltd",
    }
    typed = {(edge.evidence, edge.target[2:]) for edge in bike.edges if edge.type == "field"}
    assert typed == {("owner", "People/Ada Brandt.md"), ("supplier", "Hollow Tubes Ltd.md")}
    meeting = vault["Meetings/2026-04-02 Opening hours.md"]
    assert ("Meetings/2026-04-02 Opening hours.md", "People/Jonas Meer.md") in edges(meeting, "field")
    assert own_fields(meeting.nodes[0])["attendees"] == ["Ada Brandt", "Jonas Meer"]


@pytest.mark.parametrize("format", ["markdown", "plain", "xml", "json"])
def test_a_line_that_only_states_a_printed_field_is_left_out_of_the_text(weft: Weft, format: str) -> None:
    question = "what does the cargo bike cost"
    printed = weft.context(question, format=format).text
    assert printed.count("640 euros") == 1
    assert "supplier::" not in printed
    # Where the page prints no fields, or the lens not this one, the text still says it.
    assert "budget:: 640 euros" in weft.context(question, format=format, include_fields=False).text
    assert "budget:: 640 euros" in weft.context(question, format=format, lens="planning").text


def test_lines_that_say_something_else_than_the_printed_fields_stay(tmp_path: Path) -> None:
    lines = ["status:: open", "We have [owner:: [[Ada]]] and more.", "- place:: shed", "  behind the house"]
    code = ["```", "colour:: red", "```"]
    text = "\n".join(["---", "status: closed", "---", "colour:: red", "", *lines, "", *code, "", "Last [[Ada]]"])
    write(tmp_path / "vault", **{"Garden.md": text})
    with Weft.open(tmp_path / "store") as opened:
        opened.index(tmp_path / "vault", source="v")
        context = opened.context("Garden")
    assert "- **Colour**: red" in context.text
    assert "\n".join(["", "", *lines, "", *code, "", "Last [[Ada]]"]) in context.text
    assert context.text.count("colour:: red") == 1
    [quoted] = [entry for entry in context.manifest if entry.verbatim]
    assert (quoted.source_first_line, quoted.source_last_line) == (6, 15)


def test_tasks_have_their_states_and_dates(vault: dict[str, Unit]) -> None:
    tasks = {each.title: own_fields(each) for each in vault["Projects/Cargo bike.md"].nodes if each.kind == "task"}
    assert tasks == {
        "Lace the front wheel": {
            "due": "2026-04-20",
            "note": "Cargo bike",
            "priority": "high",
            "status": "open",
        },
        "Weld the box holder": {
            "assignee": "Jonas Meer",
            "due": "2026-04-12",
            "note": "Cargo bike",
            "status": "in progress",
        },
        "Buy tubes from Hollow Tubes Ltd": {"done": "2026-03-28", "note": "Cargo bike", "status": "done"},
        "Borrow a jig from the museum": {"note": "Cargo bike", "status": "cancelled"},
    }
    assert len(edges(vault["Projects/Cargo bike.md"], "parent")) == 4


def test_a_task_is_printed_once_with_its_note_or_alone(weft: Weft) -> None:
    page = weft.context("Cargo bike").text
    assert page.count("Lace the front wheel") == 1
    alone = weft.context("front wheel", filter=Filter(kinds=("task",))).text
    assert "### Lace the front wheel (TASK)" in alone
    assert "- **Due**: 2026-04-20" in alone


def test_a_task_stays_beside_its_note_where_its_kind_is_asked_for_or_raised_by_the_lens(weft: Weft) -> None:
    question, task = "what tasks are open on the cargo bike", "### Lace the front wheel (TASK)"
    both = weft.context(question, filter=Filter(kinds=("task", "project"))).text
    raised = weft.context(question, lens="planning").text
    assert task in both
    assert task in raised
    assert "### Cargo bike (PROJECT)" in both
    assert "### Cargo bike (PROJECT)" in raised
    assert task not in weft.context(question).text
    assert task not in weft.context(question, lens="writing").text


def test_a_canvas_is_its_cards_and_links_the_notes_on_it(vault: dict[str, Unit]) -> None:
    board = vault["Boards/Spring plan.canvas"]
    assert board.nodes[0].kind == "canvas"
    assert board.nodes[0].text.split("\n\n") == [
        "Ask the city for a stall at the street festival.",
        "**Before the festival**",
        "[[Projects/Cargo bike.md]]",
        "[[Notes/Wheel building.md]]",
        "- [[Cargo bike]] → [[Wheel building]]: needs\n"
        "- Ask the city for a stall at the street festival. → [[Cargo bike]]",
    ]
    assert edges(board, "embeds") == [
        ("Boards/Spring plan.canvas", "Projects/Cargo bike.md"),
        ("Boards/Spring plan.canvas", "Notes/Wheel building.md"),
    ]
    (arrow,) = [edge for edge in board.edges if edge.type == "links"]
    assert (arrow.source, arrow.target, arrow.evidence) == (
        "v:Projects/Cargo bike.md",
        "v:Notes/Wheel building.md",
        "needs (Spring plan)",
    )
    assert ("Home.md", "Boards/Spring plan.canvas") in edges(vault["Home.md"], "links")


def test_a_base_says_what_it_lists(vault: dict[str, Unit]) -> None:
    base = vault["Boards/Open builds.base"]
    assert base.nodes[0].summary == "Lists notes as table “What is open” of file.name, due, status."
    assert 'file.hasTag("project")' in base.nodes[0].text
    assert edges(base) == [("Boards/Open builds.base", "Projects/Cargo bike.md")]


def test_a_block_reference_leads_to_its_note_and_says_which_block(tmp_path: Path) -> None:
    notes = units(write(tmp_path, **{"A.md": "As said in [[B#^spokes]].", "B.md": "Spokes. ^spokes"}))
    (edge,) = notes["A.md"].edges
    assert (edge.target, edge.evidence) == ("v:B.md", "[[B#^spokes]] (line 1)")


def test_an_embedded_note_is_printed_once(weft: Weft) -> None:
    page = weft.context("Wheel building").text
    assert page.count("Measure the hub from flange to flange") == 1
    assert page.count("![[Spoke lengths]]") == 1
    assert "Embeds" not in page


def test_templates_are_left_out_and_the_reason_is_told(weft: Weft) -> None:
    assert weft.show("Meeting") == ()
    assert explain(weft.store, ["default"], "Meeting.md") == ("Templates/Meeting.md was not read: template.",)


def test_a_link_to_a_note_that_does_not_exist_yet_is_kept_as_a_name(weft: Weft) -> None:
    assert "### Cargo bike" in weft.context("Hollow Tubes Ltd").text
    assert "### Wheel building" in weft.context("Tension meter").text


@pytest.mark.parametrize("name", ["The long one", "Ada", "Start page", "Home", "Spoke House"])
def test_a_note_is_found_by_its_title_its_aliases_and_its_file_name(weft: Weft, name: str) -> None:
    assert len(weft.show(name)) == 1


@pytest.mark.parametrize("link", ["[[Cargo bike]]", "[[Projects/Cargo bike#^spokes|it]]", "[[The long one]]"])
def test_a_link_copied_out_of_a_note_asks_for_the_note_that_it_means(weft: Weft, link: str) -> None:
    assert weft.context(link).sources[0].key == "v:Projects/Cargo bike.md"


def test_json_pages_of_a_vault_are_data_as_the_schema_describes(weft: Weft) -> None:
    schema = json.loads((VAULT.parents[1] / "docs" / "page.schema.json").read_bytes())
    for words in ("Cargo bike", "Spring plan", "Paint the new sign", "Which hubs suit the cargo bike?"):
        page = json.loads(weft.context(words, format="json").text)
        assert [each.message for each in Draft202012Validator(schema).iter_errors(page)] == []
    page = json.loads(weft.context("Paint the new sign", format="json").text)
    (task,) = [each for each in page["sections"][0]["nodes"] if each["type"] == "task"]
    assert task["fields"]["due"] == "2026-04-09"


def test_the_name_of_a_file_that_is_also_a_word_does_not_link_every_text_that_uses_it(tmp_path: Path) -> None:
    files = {"Home.md": "# Spoke House\n[[Other]]\n", "Other.md": "Ada went Home early.\n"}
    with Weft.open(tmp_path / "store", embedder=None) as opened:
        opened.index(write(tmp_path / "v", **files), source="v")
        assert [edge.type for _, edge in opened.related("v:Other.md")] == ["links"]


@pytest.mark.parametrize("tag", ["project", "Project", "project/build", "Project/Build"])
def test_a_nested_tag_is_found_by_the_tags_above_it_in_any_case(weft: Weft, tag: str) -> None:
    found = weft.context("bike", filter=Filter(tags=(tag,)))
    assert [source.key for source in found.sources] == ["v:Projects/Cargo bike.md"]


def test_a_daily_note_is_dated_by_its_name(vault: dict[str, Unit]) -> None:
    assert node(vault, "Daily/2026-04-03.md").created == datetime(2026, 4, 3, tzinfo=UTC)


@pytest.mark.parametrize(
    "name",
    ["2026-04-02", "2026_04_02", "2026.04.02", "20260402", "Apr 2nd, 2026", "April 2, 2026", "2 April 2026"],
)
def test_the_names_of_days_are_read_as_people_write_them(tmp_path: Path, name: str) -> None:
    notes = units(write(tmp_path, **{f"{name}.md": "x"}))
    assert notes[f"{name}.md"].nodes[0].created == datetime(2026, 4, 2, tzinfo=UTC)


@pytest.mark.parametrize("name", ["2026-13-02", "2026-04", "12345678", "Apricot 2nd, 2026", "Plan for 2026"])
def test_other_names_date_no_note(tmp_path: Path, name: str) -> None:
    assert units(write(tmp_path, **{f"{name}.md": "x"}))[f"{name}.md"].nodes[0].created is None


# --- more of Obsidian ---


def test_a_folder_called_templates_holds_templates_where_they_have_places_to_fill_in(tmp_path: Path) -> None:
    notes = units(
        write(
            tmp_path,
            **{
                "Templates/Day.md": "# {{date:YYYY-MM-DD}}\n",
                "Templates/Person.md": "<% tp.file.title %>\n",
                "docs/templates/How to write one.md": "Write `{{title}}` where the title goes.\n",
            },
        )
    )
    assert list(notes) == ["docs/templates/How to write one.md"]


def test_a_link_in_a_table_and_a_property_without_quotes_are_links(tmp_path: Path) -> None:
    text = "---\nowner: [[Ada]]\n---\n| a |\n|---|\n| [[Ada\\|she]] |\n"
    notes = units(write(tmp_path, **{"A.md": text, "Ada.md": "x"}))
    assert edges(notes["A.md"]) == [("A.md", "Ada.md"), ("A.md", "Ada.md")]
    assert own_fields(notes["A.md"].nodes[0]) == {"owner": "Ada"}


def test_a_link_by_an_alias_means_the_note_that_has_it(tmp_path: Path) -> None:
    notes = units(write(tmp_path, **{"A.md": "[[The boss]]", "Ada.md": "---\naliases: [The boss]\n---\n"}))
    assert edges(notes["A.md"]) == [("A.md", "Ada.md")]


def test_comments_within_a_line_go_and_percent_signs_stay(tmp_path: Path) -> None:
    text = "One %%hidden%% two.\n`%%code%%` and 50%% of it, 10%%.\n"
    assert units(write(tmp_path, **{"A.md": text}))["A.md"].nodes[0].text == (
        "One  two.\n`%%code%%` and 50%% of it, 10%%.\n"
    )


@pytest.mark.parametrize(
    ("line", "words", "status", "values"),
    [
        ("- [ ] Plain", "Plain", "open", {}),
        ("* [X] Capital", "Capital", "done", {}),
        ("1. [>] Later", "Later", "deferred", {}),
        ("> - [!] Quoted", "Quoted", "open", {}),
        ("- [ ] Water 🛫 2026-01-02 ⏳ 2026-01-03 ➕ 2026-01-01", "Water", "open",
         {"start": "2026-01-02", "scheduled": "2026-01-03", "created": "2026-01-01"}),
        ("- [x] Pay 🔁 every month 📅 2026-02-01 ✅ 2026-02-02", "Pay", "done",
         {"repeats": "every month", "due": "2026-02-01", "done": "2026-02-02"}),
        ("- [ ] Ring (due:: 2026-03-04) [priority:: high]", "Ring", "open",
         {"due": "2026-03-04", "priority": "high"}),
        ("- [ ] Keep the mark ^abc-1", "Keep the mark", "open", {}),
        ("- TODO [#A] Sow beans\n  DEADLINE: <2026-05-01 Fri>", "Sow beans", "open",
         {"priority": "high", "due": "2026-05-01"}),
        ("- DOING Dig\n  SCHEDULED: <2026-05-02 Sat>", "Dig", "in progress", {"scheduled": "2026-05-02"}),
        ("- WAITING Rain", "Rain", "waiting", {}),
        ("- CANCELED Snow", "Snow", "cancelled", {}),
    ],
)  # fmt: skip
def test_the_states_and_dates_of_tasks(line: str, words: str, status: str, values: dict[str, str]) -> None:
    (task,) = find_tasks(line)
    assert (task.words, task.status, task.values) == (words, status, values)


@pytest.mark.parametrize(
    "text", ["```\n- [ ] code\n```", "- []none", "[ ] no list", "TODO not a list", "%%\n- [ ] x\n%%"]
)
def test_what_only_looks_like_a_task_is_none(text: str) -> None:
    assert list(find_tasks(text)) == []


def test_a_task_keeps_its_key_when_others_are_written_above_it(tmp_path: Path) -> None:
    before = units(write(tmp_path, **{"A.md": "#x\n- [ ] Sow\n- [ ] Sow\n"}))["A.md"].nodes
    after = units(write(tmp_path, **{"A.md": "#x\n- [ ] Dig\n- [x] Sow\n- [ ] Sow\n"}))["A.md"].nodes
    assert [each.key for each in before[1:]] == [each.key for each in after[2:]]
    assert len({each.key for each in after}) == 4


def test_check_lists_of_documentation_are_no_tasks(tmp_path: Path) -> None:
    notes = units(write(tmp_path, **{"docs/release.md": "# Release\n\n- [ ] Write the change log\n"}))
    assert [each.kind for each in notes["docs/release.md"].nodes] == ["note"]


@pytest.mark.parametrize("text", ["{", "[]", '{"nodes": 3}', '{"nodes": [{"id": 4}]}'])
def test_a_broken_canvas_is_a_problem_and_no_loss(tmp_path: Path, text: str) -> None:
    unit = units(write(tmp_path, **{"A.canvas": text, "B.md": "x"}))["A.canvas"]
    assert unit.nodes == ()
    assert "no canvas that can be read" in unit.problems[0].reason


def test_an_empty_canvas_and_a_base_that_is_a_list(tmp_path: Path) -> None:
    notes = units(write(tmp_path, **{"A.canvas": "", "B.base": "- 1\n"}))
    assert notes["A.canvas"].problems == ()
    assert "no base that can be read" in notes["B.base"].problems[0].reason


# --- Logseq ---


def logseq(folder: Path) -> Path:
    return write(
        folder,
        **{
            "logseq/config.edn": "{}",
            "logseq/bak/pages/Garden/old.md": "- An old copy",
            "pages/Garden.md": "alias:: The plot\ntags:: [[green things]], outside\n\n"
            f"- Beans need poles.\n  id:: {BLOCK}\n  collapsed:: true\n"
            "- TODO Sow beans\n  DEADLINE: <2026-05-01 Fri>\n  :LOGBOOK:\n  CLOCK: [2026-04-01]\n  :END:\n",
            "pages/plans___spring.md": "- Begin with [[The plot]] #[[first draft]]\n",
            "journals/2026_04_02.md": f"- See (({BLOCK})) and {{{{embed [[plans/spring]]}}}}\n",
            "pages/Week.md": "- [[Apr 2nd, 2026]] was dry\n",
        },
    )


def test_a_page_of_logseq_has_its_properties_tasks_and_no_machinery(tmp_path: Path) -> None:
    garden, task = units(logseq(tmp_path))["pages/Garden.md"].nodes
    assert garden.tags == ("green things", "outside")
    assert [alias.text for alias in garden.aliases] == ["The plot"]
    assert BLOCK not in garden.text
    assert "collapsed" not in garden.text
    assert "CLOCK" not in garden.text
    assert (task.title, own_fields(task)) == (
        "Sow beans",
        {"due": "2026-05-01", "note": "Garden", "status": "open"},
    )


def test_references_to_blocks_pages_days_and_namespaces_of_logseq_are_links(tmp_path: Path) -> None:
    notes = units(logseq(tmp_path))
    assert edges(notes["journals/2026_04_02.md"], "links") == [("journals/2026_04_02.md", "pages/Garden.md")]
    assert edges(notes["journals/2026_04_02.md"], "embeds") == [
        ("journals/2026_04_02.md", "pages/plans___spring.md")
    ]
    assert ("pages/plans___spring.md", "pages/Garden.md") in edges(notes["pages/plans___spring.md"])
    assert edges(notes["pages/Week.md"]) == [("pages/Week.md", "journals/2026_04_02.md")]
    assert notes["pages/plans___spring.md"].nodes[0].title == "plans/spring"
    assert notes["pages/plans___spring.md"].nodes[0].tags == ("first draft",)


def test_copies_that_logseq_keeps_are_left_out(tmp_path: Path) -> None:
    assert not [name for name in units(logseq(tmp_path)) if name.startswith("logseq/bak")]


# --- what is read again ---


def read_again(weft: Weft, folder: Path) -> int:
    return weft.index(folder, source="v").units_changed


def test_a_note_that_comes_or_goes_has_only_those_read_again_that_link_to_it(tmp_path: Path) -> None:
    notes = {f"N{number}.md": f"Note {number} links to [[N{number + 1}]]." for number in range(40)}
    folder = write(tmp_path / "v", **notes, **{"Waiting.md": "For [[Later]]."})
    with Weft.open(tmp_path / "store", embedder=None) as opened:
        assert read_again(opened, folder) == 41
        write(folder, **{"Alone.md": "Nobody links here."})
        assert read_again(opened, folder) == 1
        (folder / "Alone.md").unlink()
        assert read_again(opened, folder) == 0
        write(folder, **{"deep/Later.md": "Here it is."})
        assert read_again(opened, folder) == 2
        assert [node.key for node, _ in opened.related("v:Waiting.md", types="links")] == ["v:deep/Later.md"]
        (folder / "deep/Later.md").unlink()
        assert read_again(opened, folder) == 1


def test_notes_that_an_older_reader_stored_are_read_again(tmp_path: Path) -> None:
    folder = write(tmp_path / "v", **{"A.md": "#x\n- [ ] Sow", "B.md": "words"})
    with Weft.open(tmp_path / "store", embedder=None) as opened:
        read_again(opened, folder)
        stamps = opened.store.units("default", "v")
        older = [("default", "v", name, re.sub(r"^(\d+-\d+)-2", r"\1", stamps[name])) for name in ("A.md", "B.md")]
        opened.store.write(Changes(units=tuple(older)))
        assert read_again(opened, folder) == 2
        assert read_again(opened, folder) == 0


def test_a_picture_that_comes_has_only_notes_with_pictures_read_again(tmp_path: Path) -> None:
    folder = write(tmp_path / "v", **{"A.md": "![[map.png]]", "B.md": "words"})
    with Weft.open(tmp_path / "store", embedder=None) as opened:
        read_again(opened, folder)
        write(folder, **{"img/map.png": "x"})
        assert read_again(opened, folder) == 1


def test_links_by_names_that_other_notes_give_themselves_are_followed_when_they_change(tmp_path: Path) -> None:
    folder = write(tmp_path / "v", **{"A.md": "[[The boss]]", "Ada.md": "words", "Bo.md": "other words"})
    with Weft.open(tmp_path / "store", embedder=None) as opened:
        read_again(opened, folder)
        assert opened.related("v:A.md") == ()
        write(folder, **{"Ada.md": "---\nalias: The boss\n---\nmore words"})
        os.utime(folder / "Ada.md", ns=(1, 1))
        assert read_again(opened, folder) == 2
        assert [node.key for node, _ in opened.related("v:A.md", types="links")] == ["v:Ada.md"]
