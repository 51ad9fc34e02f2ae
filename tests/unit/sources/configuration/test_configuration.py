"""Configuration and build files are nodes with their exact lines; what is not read is named with its reason."""

from pathlib import Path

import pytest

from weft.model import Node
from weft.ports import Unit
from weft.sources import open_source

PYPROJECT = """\
[project]
name = "shop"
version = "1.2"
description = "Sells things."
requires-python = ">=3.11"
dependencies = ["attrs>=23", "click"]

[project.optional-dependencies]
fast = ["uvloop"]

[tool.ruff]
line-length = 100
"""
WORKFLOW = """\
name: Tests
on:
  push:
jobs:
  unit:
    strategy:
      matrix:
        os: [ubuntu-latest, windows-latest]
        python: ["3.11", "3.12"]
    steps:
      - run: make test
        env: {TOKEN: "${{ secrets.TOKEN }}"}
"""


def lay(folder: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def read(folder: Path) -> tuple[dict[str, Node], dict[str, str], dict[str, Unit]]:
    """Return the nodes by key without the source, the reasons by name, and the units by name."""
    source = open_source(str(folder), name="s", file_times=False)
    units = {name: source.read(name) for name, _ in source.units()}
    nodes = {node.key.removeprefix("s:"): node for unit in units.values() for node in unit.nodes}
    reasons = {name: unit.skipped for name, unit in units.items() if unit.skipped}
    return nodes, {**source.list_skipped(), **reasons}, units


def test_each_sort_of_file_is_a_node_named_by_its_path_with_its_text_and_lines(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "pyproject.toml": PYPROJECT,
        ".github/workflows/tests.yml": WORKFLOW,
        ".circleci/config.yml": "version: 2\n",
        "setup.cfg": "[metadata]\nname = shop\n",
        "tox.ini": "[tox]\nenvlist = py311\n",
        "package.json": '{\n  "name": "shop"\n}\n',
        "settings.json": '{\n  "colour": "red"\n}\n',
        "Dockerfile": "FROM python:3.12 AS build\nRUN make\n",
        "docker/Dockerfile.dev": "FROM alpine\n",
        "Makefile": "test: build\n\tpytest\n",
        "go.mod": "module example.org/shop\n\ngo 1.25\n\nrequire github.com/x/y v1.0.0\n",
        "requirements.txt": "attrs>=23\n",
        "requirements/dev.txt": "pytest\n",
        ".env.example": "PORT=8000\n",
        ".pre-commit-config.yaml": "repos: []\n",
        "api/shop.proto": 'syntax = "proto3";\nmessage Order {\n}\n',
    }
    nodes, reasons, units = read(lay(tmp_path, files))
    assert reasons == {}
    assert {key: (node.kind, node.title) for key, node in nodes.items()} == {key: ("config", key) for key in files}
    for key, content in files.items():
        assert nodes[key].text == str(content).rstrip("\n")
        assert (nodes[key].origin.file, nodes[key].origin.first_line) == (key, 1)
    assert not any(unit.problems for unit in units.values())


def test_a_summary_says_what_the_file_is_about(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "pyproject.toml": PYPROJECT,
        ".github/workflows/tests.yml": WORKFLOW,
        "go.mod": "module example.org/shop\n\ngo 1.25\nrequire (\n\tg.org/x v1\n\tg.org/y v2 // indirect\n)\n",
        "package.json": '{"name": "shop", "scripts": {"test": "x"}, "dependencies": {"react": "1"}}',
        "other.toml": "[one]\na = 1\n[two]\n",
        "Makefile": ".PHONY: test\ntest: build\n\tpytest\nX := 1\nbuild:\n",
    }
    nodes, _, _ = read(lay(tmp_path, files))
    assert nodes["pyproject.toml"].summary == (
        "Python project shop 1.2: Sells things. Minimum Python version: >=3.11. "
        "Runtime dependencies: attrs>=23, click. Optional dependencies: fast. Tools configured: ruff."
    )
    assert nodes[".github/workflows/tests.yml"].summary == (
        "CI workflow Tests, run on push. Jobs: unit. "
        "Matrix of unit: os ubuntu-latest, windows-latest; python 3.11, 3.12."
    )
    assert nodes["go.mod"].summary == (
        "Go module example.org/shop. Minimum Go version: 1.25. Direct dependencies: g.org/x."
    )
    assert nodes["package.json"].summary == "Package shop. Scripts: test. Runtime dependencies: react."
    assert nodes["other.toml"].summary == "Tables: one, two."
    assert nodes["Makefile"].summary == "Targets: test, build."


def test_a_long_file_is_split_at_its_tables_and_every_line_is_in_one_node(tmp_path: Path) -> None:
    tables = "".join(f"# About {name}.\n[{name}]\n" + f'key = "{"x" * 60}"\n' * 30 + "\n" for name in "abcd")
    nodes, _, units = read(lay(tmp_path, {"deep/big.toml": f"top = 1\n{tables}"}))
    assert list(nodes) == ["deep/big.toml", "deep/big.toml#b", "deep/big.toml#c", "deep/big.toml#d"]
    assert nodes["deep/big.toml"].text.startswith("top = 1\n# About a.\n[a]\n")
    assert nodes["deep/big.toml#b"].title == "deep/big.toml, b"
    lines = f"top = 1\n{tables}".split("\n")
    for node in nodes.values():
        first, last = node.origin.first_line, node.origin.last_line
        assert first is not None and last is not None
        assert node.text == "\n".join(lines[first - 1 : last])
    assert [(edge.source, edge.type) for edge in units["deep/big.toml"].edges] == [
        ("s:deep/big.toml", "contains")
    ] * 3


def test_yaml_and_json_are_split_at_their_keys_and_large_ones_once_more(tmp_path: Path) -> None:
    steps = "".join(f"    - name: step {number}\n      run: {'x' * 50}\n" for number in range(40))
    text = f"on: push\njobs:\n  one:\n    steps:\n{steps}  two:\n    steps:\n{steps}"
    nodes, _, _ = read(lay(tmp_path, {"ci.yml": text}))
    titles = [node.title for node in nodes.values()]
    assert titles[0] == "ci.yml"
    assert any(title.startswith("ci.yml, jobs.two") for title in titles)
    assert "\n".join(node.text for node in nodes.values()) == text.rstrip("\n")


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.toml", "[a\nb = 1\n"), ("a.yml", "a: [1\nb: }\n"), ("package.json", '{"a": \n'), ("x.json", '{"a": \n')],
)
def test_a_broken_file_is_kept_as_text_with_a_problem(tmp_path: Path, name: str, content: str) -> None:
    nodes, reasons, units = read(lay(tmp_path, {name: content}))
    assert nodes[name].text == content.rstrip("\n")
    assert reasons == {}
    (problem,) = units[name].problems
    assert problem.where == name and problem.reason.startswith("Not ") and "kept as text" in problem.reason


def test_comments_in_json_templates_and_tags_of_programs_are_no_problem(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "tsconfig.json": '{\n  // strict\n  "strict": true, /* x */\n}\n',
        "chart.yaml": "name: {{ .Values.name }}\n  {{- if x }}\n",
        "stack.yaml": "a: !Ref b\n",
    }
    nodes, _, units = read(lay(tmp_path, files))
    assert set(nodes) == set(files)
    assert not any(unit.problems for unit in units.values())


def test_line_ends_marks_and_utf_16_do_not_shift_lines(tmp_path: Path) -> None:
    files = {
        "crlf.toml": b"a = 1\r\nb = 2\r\n",
        "bom.toml": b"\xef\xbb\xbfa = 1\nb = 2\n",
        "wide.ini": "[a]\nb = ü\n".encode("utf-16"),
    }
    nodes, reasons, units = read(lay(tmp_path, dict(files)))
    assert (nodes["crlf.toml"].text, nodes["bom.toml"].text) == ("a = 1\nb = 2", "a = 1\nb = 2")
    assert nodes["wide.ini"].text == "[a]\nb = ü"
    assert reasons == {} and not any(unit.problems for unit in units.values())


def test_secrets_are_redacted_and_lines_keep_their_numbers(tmp_path: Path) -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----\n  AAAAB3NzaC1yc2EAAAADAQABAAABAQ\n  -----END RSA PRIVATE KEY-----"
    text = f"a: 1\nkey: |\n  {key}\npassword: hunter2hunter2\nlast: 3\n"
    nodes, _, _ = read(lay(tmp_path, {"a.yml": text}))
    stored = nodes["a.yml"].text
    assert "AAAAB3" not in stored and "hunter2" not in stored
    assert stored.split("\n")[-1] == "last: 3"
    assert stored.count("\n") == text.rstrip("\n").count("\n")


def test_what_is_not_configuration_is_named_with_the_reason(tmp_path: Path) -> None:
    bomb = "a: &a [x, x]\n" + "".join(f"b{n}: &b{n} [*a, *a, *a]\n" for n in range(60))
    files: dict[str, str | bytes] = {
        "uv.lock": "[[package]]\n",
        "package-lock.json": "{}\n",
        "go.sum": "x v1 h1:abc\n",
        "line.json": '{"a": "' + "x" * 5_000_000 + '"}',
        "table.json": '[{"model": 1}]',
        "deep.json": '{"a":' * 20 + "1" + "}" * 20,
        "people.yml": "".join(f"- name: {number}\n" for number in range(80)),
        "empty.toml": "",
        "image.yml": b"\x00\x01",
        "vendor/x.toml": "a = 1\n",
        ".env": "TOKEN=abc\n",
        ".cache/x.toml": "a = 1\n",
        "logo.png": b"\x89PNG",
        "style.css": "a {}\n",
        "bomb.yml": bomb,
    }
    nodes, reasons, _ = read(lay(tmp_path, files))
    assert reasons == {
        ".cache/": "hidden",
        ".env": "may hold secrets",
        "deep.json": "data: nested deeper than 12 levels",
        "empty.toml": "empty",
        "go.sum": "lock file",
        "image.yml": "binary",
        "line.json": "too large: 5,000,009 bytes, at most 100,000 are read of json",
        "logo.png": "binary",
        "package-lock.json": "lock file",
        "people.yml": "data: a list of 80 values",
        "style.css": "unknown type: .css",
        "table.json": "data: a list of 1 values",
        "uv.lock": "lock file",
        "vendor/x.toml": "vendored",
    }
    assert nodes["bomb.yml"].text == bomb.rstrip("\n")


def test_a_folder_of_very_many_json_files_is_data_and_known_names_are_read_all_the_same(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {f"data/{number}.json": '{"a": 1}' for number in range(60)}
    nodes, reasons, _ = read(lay(tmp_path, {**files, "data/package.json": "{}", "few/a.json": '{"b": 2}'}))
    assert set(nodes) == {"data/package.json", "few/a.json"}
    assert reasons == dict.fromkeys(files, "data folder: 60 .json files in one folder")


def test_the_bare_name_means_the_file_at_the_root_if_there_is_one(tmp_path: Path) -> None:
    nodes, _, _ = read(lay(tmp_path, {"a/one.toml": "x = 1\n", "a/two.toml": "x = 1\n", "two.toml": "x = 1\n"}))
    assert [alias.text for alias in nodes["a/one.toml"].aliases] == ["one.toml"]
    assert nodes["a/two.toml"].aliases == ()


def test_a_lock_file_that_is_named_itself_is_read(tmp_path: Path) -> None:
    nodes, _, _ = read(lay(tmp_path, {"uv.lock.toml": "a = 1\n"}) / "uv.lock.toml")
    assert set(nodes) == {"uv.lock.toml"}
