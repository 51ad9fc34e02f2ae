"""A folder of code as nodes and edges: exact lines, resolved names, and only what changed."""

from pathlib import Path

import pytest

from weft.indexing.not_read import count_reasons
from weft.model import Edge, Node
from weft.ports import Unit
from weft.sources import open_source

SHOP = {
    "shop/__init__.py": '"""A shop."""\n\nfrom shop.order import Order\n',
    "shop/clock.py": '"""Time."""\n\nZONE = "UTC"\n\n\ndef now() -> int:\n    return 1\n',
    "shop/base.py": "class Base:\n    def save(self) -> None:\n        pass\n",
    "shop/order.py": (
        '"""Orders."""\n\nfrom shop.base import Base\nfrom shop.clock import now\nfrom . import clock\n\n\n'
        "class Order(Base):\n"
        '    """What somebody wants."""\n\n'
        "    rate = 3\n\n"
        "    def total(self) -> int:\n        self.save()\n        return now() + clock.now() + helper()\n\n"
        "    limit = 10\n\n\n"
        "def helper() -> int:\n    return 2\n\n\n"
        "DEFAULT_LIMIT = 30\n"
    ),
    "tests/test_order.py": "from shop import Order\n\n\ndef test_total():\n    assert Order().total() == 4\n",
}


def lay(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def read(
    folder: Path, memory: Path | None = None
) -> tuple[dict[str, Node], set[tuple[str, str, str]], list[Unit]]:
    """The nodes by key, edges as (source, type, target) without the source's name, and the units."""
    source = open_source(str(folder), name="s", cache_folder=memory)
    units = [source.read(name) for name, _ in source.units()]
    edges = {(bare(edge.source), edge.type, bare(edge.target)) for unit in units for edge in unit.edges}
    return {bare(node.key): node for unit in units for node in unit.nodes}, edges, units


def bare(key: str) -> str:
    return key.removeprefix("s:")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return lay(tmp_path / "repo", SHOP)


def test_every_node_quotes_exactly_the_lines_it_names(shop: Path) -> None:
    nodes, _, _ = read(shop)
    assert nodes
    for node in nodes.values():
        assert node.origin.file is not None and node.origin.first_line is not None
        lines = (shop / node.origin.file).read_text("utf-8").split("\n")
        assert node.text == "\n".join(lines[node.origin.first_line - 1 : node.origin.last_line])


def test_a_symbol_has_its_signature_its_docstring_and_its_language(shop: Path) -> None:
    nodes, _, _ = read(shop)
    order = nodes["shop/order.py#Order"]
    assert (order.kind, order.title, order.language) == ("class", "Order", "python")
    assert order.summary == "What somebody wants."
    assert order.fields["signature"] == "class Order(Base)"
    assert nodes["shop/order.py#Order.total"].kind == "method"
    assert nodes["shop/order.py"].summary == "Orders."


def test_every_line_of_substance_is_in_exactly_one_node(shop: Path) -> None:
    nodes, _, _ = read(shop)
    result = [
        (node.origin.file, line)
        for node in nodes.values()
        for line in range(node.origin.first_line or 1, (node.origin.last_line or 0) + 1)
    ]
    assert len(result) == len(set(result))
    for name, text in SHOP.items():
        written = {number for number, line in enumerate(text.split("\n"), 1) if line.strip()}
        assert written <= {line for file, line in result if file == name}


def test_what_stands_between_definitions_is_a_part_of_its_file_or_class(shop: Path) -> None:
    nodes, edges, _ = read(shop)
    assert "limit = 10" in nodes["shop/order.py#Order/part-2"].text
    assert nodes["shop/order.py#part-2"].text == "DEFAULT_LIMIT = 30"
    assert ("shop/order.py#Order", "contains", "shop/order.py#Order/part-2") in edges
    assert ("shop/order.py", "contains", "shop/order.py#part-2") in edges


def test_names_are_followed_through_imports_classes_and_packages(shop: Path) -> None:
    _, edges, _ = read(shop)
    assert {
        ("shop/order.py", "contains", "shop/order.py#Order"),
        ("shop/order.py#Order", "contains", "shop/order.py#Order.total"),
        ("shop/order.py", "imports", "shop/clock.py"),
        ("shop/order.py#Order", "inherits", "shop/base.py#Base"),
        ("shop/order.py#Order.total", "calls", "shop/clock.py#now"),
        ("shop/order.py#Order.total", "calls", "shop/base.py#Base.save"),
        ("shop/order.py#Order.total", "calls", "shop/order.py#helper"),
        ("tests/test_order.py#test_total", "tests", "shop/order.py#Order"),
        ("tests/test_order.py#test_total", "tests", "shop/order.py#Order.total"),
    } <= edges


@pytest.mark.parametrize(
    ("caller", "called", "edge"),
    [
        (
            ("a/main.ts", "import { go } from '../b/lib';\nfunction run() { go(); }\n"),
            ("b/lib.ts", "export function go() {}\n"),
            ("a/main.ts#run", "calls", "b/lib.ts#go"),
        ),
        (
            ("main.go", 'package m\nimport "example.com/m/lib"\nfunc run() { lib.Go() }\n'),
            ("lib/lib.go", "package lib\nfunc Go() {}\n"),
            ("main.go#run", "calls", "lib/lib.go#Go"),
        ),
        (
            ("src/main.rs", "use crate::lib_b::go;\nfn run() { go(); }\n"),
            ("src/lib_b.rs", "pub fn go() {}\n"),
            ("src/main.rs#run", "calls", "src/lib_b.rs#go"),
        ),
        (
            ("src/a/Main.java", "import b.Lib;\nclass Main { void run() { Lib.go(); } }\n"),
            ("src/b/Lib.java", "class Lib { static void go() {} }\n"),
            ("src/a/Main.java#Main.run", "calls", "src/b/Lib.java#Lib.go"),
        ),
        (
            ("main.c", '#include "lib/b.h"\nint run() { return go(); }\n'),
            ("lib/b.h", "inline int go() { return 1; }\n"),
            ("main.c#run", "calls", "lib/b.h#go"),
        ),
        (
            ("a.rb", "require_relative 'lib/b'\ndef run\n  go(1)\nend\n"),
            ("lib/b.rb", "def go(x)\n  x\nend\n"),
            ("a.rb#run", "calls", "lib/b.rb#go"),
        ),
        (
            ("a.sh", 'source "$(dirname "$0")/lib.sh"\nrun() { go; }\n'),
            ("lib.sh", "go() { :; }\n"),
            ("a.sh#run", "calls", "lib.sh#go"),
        ),
    ],
    ids=["typescript", "go", "rust", "java", "c", "ruby", "bash"],
)
def test_calls_are_followed_into_other_files(
    tmp_path: Path, caller: tuple[str, str], called: tuple[str, str], edge: tuple[str, str, str]
) -> None:
    assert edge in read(lay(tmp_path, dict([caller, called])))[1]


def test_a_module_of_the_standard_library_is_not_a_file_of_that_name_elsewhere(tmp_path: Path) -> None:
    files = {
        "app/main.py": "import json\n\n\ndef run():\n    json.dumps(1)\n",
        "deep/util/json.py": "def dumps(x): ...\n",
    }
    _, edges, _ = read(lay(tmp_path, files))
    assert not {edge for edge in edges if edge[1] in ("imports", "calls")}


def stamps(folder: Path, memory: Path) -> dict[str, str]:
    return dict(open_source(str(folder), name="s", cache_folder=memory).units())


def test_a_change_inside_a_body_touches_only_its_own_file(shop: Path, tmp_path: Path) -> None:
    before = stamps(shop, tmp_path / "memory")
    (shop / "shop/clock.py").write_text('"""Time."""\n\n\ndef now() -> int:\n    return 22\n', encoding="utf-8")
    after = stamps(shop, tmp_path / "memory")
    assert {name for name in after if after[name] != before[name]} == {"shop/clock.py"}


def test_a_definition_that_comes_is_found_by_files_that_waited_for_it(shop: Path, tmp_path: Path) -> None:
    lay(shop, {"shop/early.py": "from shop.late import ready\n\n\ndef go():\n    ready()\n"})
    before = stamps(shop, tmp_path / "memory")
    lay(shop, {"shop/late.py": "def ready():\n    pass\n"})
    after = stamps(shop, tmp_path / "memory")
    assert {name for name in after if after[name] != before.get(name)} == {"shop/early.py", "shop/late.py"}
    assert ("shop/early.py#go", "calls", "shop/late.py#ready") in read(shop, tmp_path / "memory")[1]


def test_what_was_remembered_gives_the_same_as_reading_anew(shop: Path, tmp_path: Path) -> None:
    stamps(shop, tmp_path / "memory")
    lay(shop, {"shop/tax.py": "from shop.clock import now\n\n\ndef tax():\n    return now()\n"})
    (shop / "shop/base.py").unlink()
    remembered = read(shop, tmp_path / "memory")
    assert remembered == read(shop)


def test_a_damaged_memory_is_begun_anew(shop: Path, tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    before = stamps(shop, memory)
    for file in memory.iterdir():
        file.write_bytes(b"no database" * 1000)
    assert stamps(shop, memory) == before


def remarks(folder: Path) -> dict[str, int]:
    source = open_source(str(folder), name="s")
    list(source.units())
    return dict(source.count_skipped()) | dict(count_reasons(source.list_skipped()))


def test_what_nobody_wrote_is_passed_over_and_counted(tmp_path: Path) -> None:
    lay(
        tmp_path,
        {
            "good.py": "x = 1\n",
            "app.min.js": "var a=1;",
            "packed.js": "var a=1;" * 2000,
            "api_pb2.py": "x = 1\n",
            "made.go": "// Code generated by hand; DO NOT EDIT.\npackage made\n",
            "third_party/lib.c": "int x;\n",
            "node_modules/left/pad.js": "x = 1\n",
            "broken.py": "def (:\n",
        },
    )
    (tmp_path / "image.py").write_bytes(b"\x00\x01\x02")
    nodes, _, _ = read(tmp_path)
    assert {node.origin.file for node in nodes.values()} == {"good.py", "broken.py"}
    assert remarks(tmp_path) == {
        "binary": 1,
        "generated": 2,
        "in node_modules": 1,
        "minified": 2,
        "read with syntax errors (broken.py)": 1,
        "vendored": 1,
    }


def test_a_file_named_on_the_command_line_is_read_whatever_it_is(tmp_path: Path) -> None:
    lay(tmp_path, {"api_pb2.py": "def go(): ...\n"})
    source = open_source(str(tmp_path / "api_pb2.py"), name="s")
    assert [node.title for name, _ in source.units() for node in source.read(name).nodes] == ["api_pb2.py", "go"]


def test_a_huge_file_is_passed_over(tmp_path: Path) -> None:
    with (tmp_path / "huge.py").open("wb") as stream:
        stream.truncate(200_000_000)
    assert remarks(tmp_path) == {"too large": 1}


def test_a_function_of_ten_thousand_lines_is_one_node(tmp_path: Path) -> None:
    body = "".join(f"    step_{number} = call_{number}()\n" for number in range(10_000))
    nodes, _, _ = read(lay(tmp_path, {"long.py": f"def long():\n{body}"}))
    assert nodes["long.py#long"].origin.last_line == 10_001


def test_names_with_blanks_quotes_and_other_scripts_are_files_like_any_other(tmp_path: Path) -> None:
    names = ["a b.py", "it's.py", 'say "hi".py', "größe/文件.py"]
    nodes, _, _ = read(lay(tmp_path, dict.fromkeys(names, "def go(): ...\n")))
    assert set(nodes) == {*names, *(f"{name}#go" for name in names)}


def test_broken_utf8_is_replaced_and_reported(tmp_path: Path) -> None:
    (tmp_path / "latin.py").write_bytes(b"# caf\xe9\ndef go(): ...\n")
    nodes, _, units = read(tmp_path)
    assert "latin.py#go" in nodes
    assert "Broken UTF-8" in units[0].problems[0].reason


def test_links_in_a_circle_are_walked_once(tmp_path: Path) -> None:
    lay(tmp_path, {"a/good.py": "x = 1\n"})
    (tmp_path / "a" / "loop").symlink_to(tmp_path / "a", target_is_directory=True)
    (tmp_path / "self").symlink_to(tmp_path / "self")
    nodes, _, _ = read(tmp_path)
    assert set(nodes) == {"a/good.py"}


def test_a_file_that_vanishes_while_it_is_read_is_a_problem_and_no_failure(shop: Path) -> None:
    source = open_source(str(shop), name="s")
    names = [name for name, _ in source.units()]
    (shop / "shop/clock.py").unlink()
    units = {name: source.read(name) for name in names}
    assert units["shop/clock.py"].stamp == ""
    assert "cannot be read" in units["shop/clock.py"].problems[0].reason
    assert units["shop/order.py"].nodes


def test_edges_say_on_which_line_they_stand(shop: Path) -> None:
    edges: list[Edge] = [edge for unit in read(shop)[2] for edge in unit.edges]
    call = next(edge for edge in edges if edge.type == "calls" and edge.target == "s:shop/clock.py#now")
    assert call.evidence == "line 15"


def test_listing_tells_how_many_files_are_parsed(shop: Path) -> None:
    result: list[tuple[str, int, int | None]] = []
    source = open_source(str(shop), name="s")
    source.report_progress_to(lambda *each: result.append(each))
    list(source.units())
    assert result == [("parsing s", done, len(SHOP)) for done in range(1, len(SHOP) + 1)]


def test_a_file_that_only_holds_definitions_is_told_by_their_names_from_its_first_line(tmp_path: Path) -> None:
    many = "".join(f"def f{n}():\n    pass\n\n\n" for n in range(14))
    nodes, _, _ = read(
        lay(tmp_path, {"one.py": "class One:\n    def run(self):\n        pass\n", "many.py": many})
    )
    assert (nodes["one.py"].summary, nodes["one.py"].origin.first_line) == ("Defines One.", 1)
    assert nodes["many.py"].summary.endswith("f10, f11 and 2 more.")


def test_a_guessed_call_weighs_less_than_one_that_is_known(tmp_path: Path) -> None:
    folder = lay(
        tmp_path,
        {
            "clock.py": "class Clock:\n    def tell_time(self):\n        pass\n\n\ndef now():\n    pass\n",
            "known.py": "from clock import now\n\n\ndef known():\n    now()\n",
            "guessed.py": "def guessed(thing):\n    thing.tell_time()\n",
        },
    )
    _, _, units = read(folder)
    calls = {bare(edge.source): edge for unit in units for edge in unit.edges if edge.type == "calls"}
    assert calls["guessed.py#guessed"].target == "s:clock.py#Clock.tell_time"
    assert calls["guessed.py#guessed"].weight < calls["known.py#known"].weight < 1


def test_a_source_that_let_go_of_its_outlines_reads_the_same_units_again(shop: Path) -> None:
    source = open_source(str(shop), name="s")
    names = [name for name, _ in source.units()]
    before = [source.read(name) for name in names]
    source.release_memory()
    assert [source.read(name) for name in names] == before


def test_a_script_without_suffix_is_read_by_the_interpreter_it_names(tmp_path: Path) -> None:
    files = {
        "scripts/build": "#!/bin/sh\n# Builds it.\nmake_all() {\n  go\n}\n",
        "scripts/check": "#!/usr/bin/env -S python3.12\ndef check(): ...\n",
        "scripts/other": "#!/usr/bin/perl\nprint 1;\n",
        "plain": "no script\n",
    }
    nodes, _, _ = read(lay(tmp_path, files))
    assert set(nodes) == {"scripts/build", "scripts/build#make_all", "scripts/check", "scripts/check#check"}
    assert (nodes["scripts/build"].language, nodes["scripts/check"].language) == ("bash", "python")
    build = nodes["scripts/build#make_all"]
    assert (build.origin.first_line, build.summary) == (2, "Builds it.")
    assert remarks(tmp_path) == {"unknown type": 2}


def test_cython_is_outlined_where_it_is_python_and_text_where_it_is_not(tmp_path: Path) -> None:
    fast = "cdef int fast(int x) nogil:\n    return x"
    nodes, _, _ = read(lay(tmp_path, {"a.pyx": f"def good():\n    return 1\n\n{fast}\n"}))
    assert fast in "\n".join(node.text for node in nodes.values())
    assert {node.language for node in nodes.values()} == {"python"}


def test_what_stands_outside_the_script_of_a_component_is_kept_with_its_lines(tmp_path: Path) -> None:
    page = "<template>\n  <p class='big'>{{ x }}</p>\n</template>\n<script>\nfunction go() {}\n</script>\n"
    nodes, _, _ = read(lay(tmp_path, {"A.vue": page}))
    assert nodes["A.vue"].text.startswith("<template>\n  <p class='big'>")
    assert (nodes["A.vue#go"].origin.first_line, nodes["A.vue#go"].language) == (5, "vue")
