"""Folders of Markdown notes."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from manuscripts import CHAPTERS
from weft.errors import InvalidInput, SourceError
from weft.model import Edge, Node
from weft.ports import Source, Unit
from weft.sources import open_source, open_sources
from worlds import own_fields


def vault(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def read(folder: Path, name: str) -> Unit:
    return open_source(str(folder), name="v", file_times=False).read(name)


def note(folder: Path, text: str, name: str = "Note.md") -> Node:
    return read(vault(folder, **{name: text}), name).nodes[0]


def targets(unit: Unit) -> list[tuple[str, str]]:
    return [(edge.type, edge.target.removeprefix("v:")) for edge in unit.edges]


def test_front_matter_fills_the_node(tmp_path: Path) -> None:
    node = note(
        tmp_path,
        "---\ntitle: Mara Venn\naliases: [The Ferrywoman, Mara]\ntags: [crew, '#north']\nkind: Character\n"
        "description: Keeps the ferry.\ncreated: 2024-05-01\nupdated: 2024-05-02T10:00:00+02:00\nchapter: 3\n"
        "known_from: 2\nimportance: 0.7\nborn: 1999-01-02\nage: 41\n---\nShe waits. #river\n",
    )
    assert (node.key, node.title, node.kind, node.language) == ("v:Note.md", "Mara Venn", "character", "markdown")
    assert [alias.text for alias in node.aliases] == ["The Ferrywoman", "Mara", "Note"]
    assert node.tags == ("crew", "north", "river")
    assert node.summary == "Keeps the ferry."
    assert node.created == datetime(2024, 5, 1, tzinfo=UTC)
    assert node.modified == datetime(2024, 5, 2, 8, tzinfo=UTC)
    assert (node.sequence, node.known_from, node.importance) == (3, 2, 0.7)
    assert own_fields(node) == {"age": 41, "born": "1999-01-02", "importance": 0.7}


def test_the_body_knows_its_lines_in_the_file(tmp_path: Path) -> None:
    node = note(tmp_path, "---\ntitle: T\n---\nfirst\n\nlast\n")
    assert node.text == "first\n\nlast\n"
    assert (node.origin.file, node.origin.first_line, node.origin.last_line) == ("Note.md", 4, 6)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\ntitle: From Matter\n---\n# Heading\n", "From Matter"),
        ("intro\n\n# The Heading #\n", "The Heading"),
        ("```\n# not this\n```\n# This\n", "This"),
        ("# First steps { #first-steps }\n", "First steps"),
        ("no heading\n## second level\n", "Some Note"),
    ],
)
def test_the_title_is_the_front_matter_s_or_the_first_heading_or_the_file_s(
    tmp_path: Path, text: str, title: str
) -> None:
    assert note(tmp_path, text, "Some Note.md").title == title


@pytest.mark.parametrize("block", ["a: [1", "- just\n- a list", "when: 2024-13-45", "a: &a [*a]\nb: {{x}}"])
def test_broken_front_matter_is_reported_and_the_body_kept(tmp_path: Path, block: str) -> None:
    unit = read(vault(tmp_path, **{"Note.md": f"---\n{block}\n---\nThe body.\n"}), "Note.md")
    assert unit.nodes[0].text == "The body.\n"
    assert unit.problems[0].where == "Note.md:1"
    assert "front matter" in unit.problems[0].reason


def test_an_unusable_value_in_front_matter_stays_a_field_and_is_reported(tmp_path: Path) -> None:
    unit = read(vault(tmp_path, **{"Note.md": "---\nchapter: the third\n---\nx\n"}), "Note.md")
    assert unit.nodes[0].sequence is None
    assert own_fields(unit.nodes[0]) == {"chapter": "the third"}
    assert "'the third' is not a whole number" in unit.problems[0].reason


def test_many_yaml_aliases_do_not_blow_up(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    node = note(tmp_path, "---\n" + "\n".join(lines) + "\n---\nbody\n")
    assert node.text == "body\n"


def test_wikilinks_and_relative_links_become_edges(tmp_path: Path) -> None:
    text = (
        "[[Mara]] and [[mara|her]], [[Places/Quay#Steps]], [[quay]] again, [the log](../Log%20Book.md#top),\n"
        "[web](https://example.org/x.md), [mail](mailto:a@b.c), [here](#part), [[#Own heading]], `[[Code]]`\n"
        "```\n[[Fenced]]\n```\n<!-- [[Hidden]] -->\n"
    )
    files = {"Notes/A.md": text, "People/Mara.md": "", "Places/Quay.md": "", "Log Book.md": ""}
    unit = read(vault(tmp_path, **files), "Notes/A.md")
    assert targets(unit) == [("links", "People/Mara.md"), ("links", "Places/Quay.md"), ("links", "Log Book.md")]
    assert unit.edges[0] == Edge(
        "v:Notes/A.md", "v:People/Mara.md", "links", evidence="[[Mara]] (line 1)", tenant="default"
    )


def test_an_unresolved_link_dangles_where_the_note_would_be(tmp_path: Path) -> None:
    unit = read(vault(tmp_path, **{"A.md": "[[Not Yet]] [x](sub/later.md) [out](../../up.md)"}), "A.md")
    assert targets(unit) == [("links", "Not Yet.md"), ("links", "sub/later.md")]


def test_of_notes_with_the_same_name_the_one_beside_wins_then_the_shortest_path(tmp_path: Path) -> None:
    files = {"X/A.md": "[[Twin]]", "X/Twin.md": "", "Y/Twin.md": "", "Z.md": "[[Twin]]", "A/B/Twin.md": ""}
    folder = vault(tmp_path, **files)
    assert targets(read(folder, "X/A.md")) == [("links", "X/Twin.md")]
    far = read(folder, "Z.md")
    assert targets(far) == [("links", "X/Twin.md")]
    assert far.edges[0].confidence == 0.333


def test_embeds_and_images_are_kept_as_references(tmp_path: Path) -> None:
    text = "![[Map.png|300]] ![[Mara]] ![pier](img/pier.jpg) ![[plan.pdf]] ![x](https://example.org/a?w=3)"
    unit = read(vault(tmp_path, **{"A.md": text, "Mara.md": ""}), "A.md")
    images = ["Map.png", {"ref": "img/pier.jpg", "alt": "pier"}, {"ref": "https://example.org/a?w=3", "alt": "x"}]
    assert own_fields(unit.nodes[0]) == {"embeds": ["Mara", "plan.pdf"], "images": images}
    assert targets(unit) == [("embeds", "Mara.md")]


@pytest.mark.parametrize(
    ("written", "image"),
    [
        ("![[harbour map.png]]", "Maps/harbour map.png"),
        ("![[HARBOUR MAP.PNG|The harbour|300x200]]", {"ref": "Maps/harbour map.png", "alt": "The harbour"}),
        ("![At low water](../Maps/harbour%20map.png)", {"ref": "Maps/harbour map.png", "alt": "At low water"}),
        ("![](<../Maps/harbour map.png> 'title')", "Maps/harbour map.png"),
        ("![](/Maps/harbour%20map.png)", "Maps/harbour map.png"),
        ("![](own.svg)", "Places/own.svg"),
        ("![](gone/lost.png)", "Places/gone/lost.png"),
        ("![[lost.png]]", "lost.png"),
        ("![](../../out.png)", "../../out.png"),
    ],
)
def test_a_picture_is_named_by_its_path_in_the_folder(tmp_path: Path, written: str, image: object) -> None:
    files = {"Places/Quay.md": written, "Maps/harbour map.png": "", "Places/own.svg": "", "Old/Maps/own.svg": ""}
    assert own_fields(read(vault(tmp_path, **files), "Places/Quay.md").nodes[0]) == {"images": [image]}


@pytest.mark.parametrize("written", ["![](data:image/png;base64,AAAA)", "`![](a.png)`", "<!-- ![](a.png) -->"])
def test_pictures_without_a_place_and_pictures_in_code_are_none(tmp_path: Path, written: str) -> None:
    assert own_fields(note(tmp_path, written)) == {}


@pytest.mark.parametrize(
    ("matter", "fields"),
    [
        ("image: map.png", {"images": ["map.png"]}),
        ('image: "[[map.png|The map]]"', {"images": [{"ref": "map.png", "alt": "The map"}]}),
        ("image: [[map.png]]", {"images": ["map.png"]}),
        ("images: [{ ref: map.png, alt: Map }, b.png]", {"images": [{"ref": "map.png", "alt": "Map"}, "b.png"]}),
        ("image: postgres:16", {"image": "postgres:16"}),
    ],
)
def test_front_matter_names_pictures_too(tmp_path: Path, matter: str, fields: dict[str, object]) -> None:
    assert own_fields(note(tmp_path, f"---\n{matter}\n---\nText.")) == fields


def test_pictures_of_front_matter_and_text_are_listed_once_each(tmp_path: Path) -> None:
    text = "---\nimages: [map.png, cover.png]\n---\n![[pier.png]] ![The map](map.png) ![[pier.png|Pier]]"
    images = [{"ref": "map.png", "alt": "The map"}, "cover.png", {"ref": "pier.png", "alt": "Pier"}]
    assert own_fields(note(tmp_path, text)) == {"images": images}


def test_a_picture_that_comes_or_goes_changes_the_stamps(tmp_path: Path) -> None:
    source = open_source(str(vault(tmp_path, **{"A.md": "![[map.png]]"})), name="v")
    before = dict(source.units())
    vault(tmp_path, **{"Maps/map.png": ""})
    assert dict(source.units()) != before
    assert own_fields(source.read("A.md").nodes[0]) == {"images": ["Maps/map.png"]}


def test_a_note_with_a_dot_in_its_name_is_found(tmp_path: Path) -> None:
    unit = read(vault(tmp_path, **{"A.md": "[[Release 2.1]]", "Release 2.1.md": ""}), "A.md")
    assert targets(unit) == [("links", "Release 2.1.md")]


def test_tags_come_from_the_body_but_not_from_code_headings_or_addresses(tmp_path: Path) -> None:
    text = "# Title\n#one, #two/three and #naïve; not `#code`, #42, a#b, https://x.org/#frag, [[A#part]]\n"
    assert note(tmp_path, text).tags == ("one", "two/three", "naïve")


def test_a_new_note_changes_the_stamps_of_notes_whose_links_now_mean_it(tmp_path: Path) -> None:
    source = open_source(str(vault(tmp_path, **{"A.md": "[[B]]"})))
    before = dict(source.units())
    assert dict(source.units()) == before
    vault(tmp_path, **{"deep/B.md": ""})
    assert dict(source.units())["A.md"] != before["A.md"]


def test_file_times_are_used_only_when_told(tmp_path: Path) -> None:
    vault(tmp_path, **{"A.md": "x"})
    os.utime(tmp_path / "A.md", (1_700_000_000, 1_700_000_000))
    assert read(tmp_path, "A.md").nodes[0].modified is None
    told = open_source(str(tmp_path), file_times=True).read("A.md").nodes[0]
    assert told.modified == datetime.fromtimestamp(1_700_000_000, UTC)


def test_hidden_and_foreign_folders_are_passed_over(tmp_path: Path) -> None:
    files = {"A.md": "", ".git/x.md": "", ".obsidian/x.md": "", "node_modules/x.md": "", ".weft/x.md": ""}
    assert [name for name, _ in open_source(str(vault(tmp_path, **files))).units()] == ["A.md"]


def test_a_loop_of_links_between_folders_ends(tmp_path: Path) -> None:
    vault(tmp_path, **{"A/one.md": "x"})
    (tmp_path / "A" / "again").symlink_to(tmp_path, target_is_directory=True)
    assert [name for name, _ in open_source(str(tmp_path)).units()] == ["A/one.md"]


def test_an_unreadable_file_is_a_problem_and_has_no_stamp(tmp_path: Path) -> None:
    vault(tmp_path, **{"A.md": "x"})
    (tmp_path / "gone.md").symlink_to(tmp_path / "nowhere.md")
    (tmp_path / "gone.jsonl").symlink_to(tmp_path / "nowhere.jsonl")
    source = open_source(str(tmp_path))
    units = {name: source.read(name) for name, _ in source.units()}
    assert units["A.md"].nodes
    for name in ("gone.md", "gone.jsonl#1"):
        assert (units[name].stamp, units[name].nodes) == ("", ())
        assert "cannot be read" in units[name].problems[0].reason


def test_broken_utf8_and_binary_and_huge_notes_are_reported(tmp_path: Path) -> None:
    (tmp_path / "latin.md").write_bytes(b"one\ncaf\xe9\n")
    (tmp_path / "binary.md").write_bytes(b"a\x00b")
    (tmp_path / "huge.md").write_bytes(b"x" * 5_000_001)
    latin = read(tmp_path, "latin.md")
    assert latin.nodes[0].text == "one\ncaf\ufffd\n"
    assert "line 2" in latin.problems[0].reason
    assert "binary" in read(tmp_path, "binary.md").problems[0].reason
    assert "5,000,001 characters" in read(tmp_path, "huge.md").problems[0].reason


def test_a_source_is_named_after_its_place_unless_told(tmp_path: Path) -> None:
    folder = vault(tmp_path / "My Notes (2024)", **{"A.md": ""})
    assert open_source(str(folder)).name == "my-notes-2024"
    assert open_source(str(folder / "A.md")).name == "a"
    assert open_source(folder.as_uri(), name="n").read("A.md").nodes[0].key == "n:A.md"


def test_places_with_the_same_name_have_different_identities(tmp_path: Path) -> None:
    one, two = (open_source(str(vault(tmp_path / part / "notes", **{"A.md": ""}))) for part in ("x", "y"))
    assert one.name == two.name
    assert one.identity() != two.identity()
    assert one.identity() == open_source(str(tmp_path / "x" / ".." / "x" / "notes")).identity()


@pytest.mark.parametrize("name", ["a b", "x:y", "", "@x", "-x"])
def test_a_name_that_would_not_fit_in_a_key_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInput, match="cannot name a source"):
        open_source(str(tmp_path), name=name)


def test_a_place_that_is_not_there_or_not_readable_says_what_to_give(tmp_path: Path) -> None:
    vault(tmp_path, **{"notes/A.md": "", "x.exe": ""})
    with pytest.raises(SourceError, match=r"Did you mean .*notes"):
        open_sources(str(tmp_path / "note"))
    with pytest.raises(SourceError, match=r"no kind of file .*\.md"):
        open_sources(str(tmp_path / "x.exe"))
    with pytest.raises(SourceError, match="path of a folder or a file"):
        open_sources("https://example.org/notes")


def test_a_folder_of_several_kinds_is_one_source(tmp_path: Path) -> None:
    vault(tmp_path, **{"A.md": "x", "data.jsonl": '{"id": "r", "text": "y", "links": ["A.md"]}\n'})
    (source,) = open_sources(str(tmp_path), name="v")
    checked: Source = source
    units = [checked.read(name) for name, _ in list(checked.units())]
    assert [node.key for unit in units for node in unit.nodes] == ["v:A.md", "v:r"]
    assert [edge.target for unit in units for edge in unit.edges] == ["v:A.md"]


# --- stories: which notes are chapters and entities when their front matter does not say --------------------


def read_story(root: Path, notes: dict[str, str], reading: str = "") -> dict[str, Node]:
    for name, text in notes.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    source = open_source(str(root), name="vault", reading=reading)
    nodes = [node for name, _ in source.units() for node in source.read(name).nodes]
    return {node.key.removeprefix("vault:"): node for node in nodes}


def test_folders_tell_the_kinds_of_a_story_s_notes(tmp_path: Path) -> None:
    names = (
        "Characters/Ned.md",
        "Places/Winterfell.md",
        "Factions/House Vane.md",
        "Items/Ring.md",
        "Events/War.md",
    )
    found = read_story(tmp_path, dict.fromkeys((*names, "Ideas.md"), "A note."))
    assert [found[name].kind for name in names] == ["character", "location", "faction", "object", "event"]
    assert found["Ideas.md"].kind == "note"


def test_folders_of_other_vaults_tell_nothing(tmp_path: Path) -> None:
    found = read_story(
        tmp_path, {"Events/Offsite.md": "Lunch.", "People/Ann.md": "Sales.", "01 Intro.md": "Hello."}
    )
    assert {node.kind for node in found.values()} == {"note"}


def test_chapters_are_numbered_by_their_names_or_their_order(tmp_path: Path) -> None:
    found = read_story(
        tmp_path, {"Chapters/Prologue.md": "a", "Chapters/03 The Ferry.md": "b", "Chapters/Zenith.md": "c"}
    )
    assert {name: node.sequence for name, node in found.items()} == {
        "Chapters/Prologue.md": 0,
        "Chapters/03 The Ferry.md": 3,
        "Chapters/Zenith.md": 3,
    }


def test_front_matter_comes_before_folders(tmp_path: Path) -> None:
    found = read_story(tmp_path, {"Chapters/09.md": "---\nkind: outline\nchapter: 2\n---\nText."})
    assert [(node.kind, node.sequence) for node in found.values()] == [("outline", 2)]


def test_files_called_chapters_are_a_story_and_numbered_files_only_when_told_so(tmp_path: Path) -> None:
    called = read_story(tmp_path / "a", {"chapter-01.md": "x", "chapter-02.md": "y"})
    assert [(node.kind, node.sequence) for node in called.values()] == [("chapter", 1), ("chapter", 2)]
    plain = {"01.md": "x", "02.md": "y"}
    assert {node.kind for node in read_story(tmp_path / "b", plain).values()} == {"note"}
    assert {node.kind for node in read_story(tmp_path / "b", plain, "story").values()} == {"chapter"}


def test_a_long_chapter_comes_in_scenes_that_hold_its_text(tmp_path: Path) -> None:
    text = "\n\n".join(CHAPTERS * 2)
    found = read_story(tmp_path, {"Chapters/01.md": text})
    chapter, *scenes = found.values()
    assert (chapter.kind, chapter.text) == ("chapter", "")
    assert {node.kind for node in scenes} == {"scene"}
    lines = text.split("\n")
    for node in scenes:
        assert node.sequence == 1
        assert node.origin.first_line is not None
        assert lines[node.origin.first_line - 1] == node.text.split("\n")[0]


def test_comments_of_obsidian_hold_no_links_and_no_tags(tmp_path: Path) -> None:
    text = "Seen %% [[Hidden]] #secret %% and [[Shown]] #open\n%%\n#over-lines\n%%\n100 %% of it"
    source = vault(tmp_path, **{"A.md": text, "Hidden.md": "x", "Shown.md": "y"})
    unit = read(source, "A.md")
    assert [edge.target.rpartition(":")[2] for edge in unit.edges] == ["Shown.md"]
    assert unit.nodes[0].tags == ("open",)


def test_a_daily_note_is_dated_by_its_name_and_the_date_of_a_meeting_is_a_field(tmp_path: Path) -> None:
    files = {"2026-04-02.md": "Pruned.", "2026_04_03.md": "Rained.", "M.md": "---\ndate: 2026-05-01\n---\nMet."}
    source = vault(tmp_path, **files)
    days = [read(source, name).nodes[0].created for name in files]
    assert [f"{day:%Y-%m-%d}" if day else None for day in days] == ["2026-04-02", "2026-04-03", "2026-05-01"]
    assert read(source, "M.md").nodes[0].fields["date"] == "2026-05-01"


def test_the_name_of_a_heading_in_braces_is_no_tag(tmp_path: Path) -> None:
    assert read(vault(tmp_path, **{"A.md": "# First steps { #first-steps }\n#real"}), "A.md").nodes[0].tags == (
        "real",
    )


def test_inline_fields_are_fields_and_typed_links(tmp_path: Path) -> None:
    text = "status:: active\n- Owner:: [[Ada Quill]]\nSeen on [due date:: 2026-05-01] by std::string\n`code:: no`"
    unit = read(vault(tmp_path, **{"A.md": f"---\nstatus: done\n---\n{text}", "Ada Quill.md": "x"}), "A.md")
    assert own_fields(unit.nodes[0]) == {"due_date": "2026-05-01", "owner": "Ada Quill", "status": "done"}
    assert [(edge.type, edge.evidence) for edge in unit.edges if edge.type == "field"] == [("field", "owner")]
