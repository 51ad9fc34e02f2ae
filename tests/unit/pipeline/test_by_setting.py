"""Lines of settings, and how to run the tests, on small pages."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from weft import Weft

FILLER = "".join(f'step{number} = "true"\n' for number in range(40))
FILES = {
    "pyproject.toml": f"""[project]
name = "ferry"

[tool.steps]
{FILLER}
[tool.mypy]
python_version = "3.11"
strict = true

[tool.ruff.lint]
select = ["E", "UP"]
""",
    "examples/config.toml": "# A config that enables what an example needs.\nstrict = true\nmypy = true\n",
    "ferry/config.py": 'def read_config(strict):\n    """Read the config that enables it."""\n    return strict\n',
    "CONTRIBUTING.md": "# Contributing\n\nRun the tests with `make check`, which needs a river nearby.\n",
    ".github/workflows/test.yml": "name: test\njobs:\n  test:\n    steps:\n      - run: make check-all\n",
    "ferry/lamp.py": "import os\n\n\ndef is_lit():\n    return os.environ.get('FERRY_LAMP') == 'on'\n",
    "docs/lamp.md": "# The lamp\n\nSet the environment variable `FERRY_NO_GLOW` to keep the lamp from glowing.\n",
    "docs/weather.md": "# The weather\n\nThe environment of the ferry is wet. Some lamps glow.\n",
    "package.json": '{\n  "name": "ferry",\n'
    + FILLER.replace(" = ", '": ').replace("step", '  "step').replace('"\n', '",\n')
    + '  "scripts": {\n    "test": "vitest --run"\n  }\n}\n',
}


@pytest.fixture(scope="module")
def weft(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Weft]:
    folder = tmp_path_factory.mktemp("settings")
    for name, text in FILES.items():
        path = Path(folder / "ferry" / name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    with Weft.open(folder / "store") as opened:
        opened.index(folder / "ferry")
        yield opened


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Which config enables strict mypy?", "[tool.mypy]"),
        ("Which ruff rules are selected?", 'select = ["E", "UP"]'),
    ],
)
def test_the_lines_of_settings_stand_on_a_small_page(weft: Weft, question: str, answer: str) -> None:
    text = weft.context(question, max_tokens=200).text
    assert answer in text
    # What an example or its settings say comes later, if at all.
    assert text.index(answer) < text.find("examples/config.toml") % len(text)


def test_how_to_run_the_tests_is_told_by_the_guide_and_the_scripts(weft: Weft) -> None:
    text = weft.context("How do I run the tests?", max_tokens=400).text
    assert "with `make check`" in text and "vitest --run" in text


def test_what_the_ci_runs_is_told_by_the_workflow_alone(weft: Weft) -> None:
    text = weft.context("What does the CI run?", max_tokens=300).text
    assert text.index("make check-all") < text.find("with `make check`") % len(text)


def test_variables_of_the_environment_are_told_by_what_reads_them_and_by_what_tells_of_them(weft: Weft) -> None:
    text = weft.context("which environment variables does the lamp look at?", max_tokens=250).text
    assert "os.environ.get('FERRY_LAMP')" in text
    assert "`FERRY_NO_GLOW`" in text


def test_what_is_tested_for_every_change_is_told_by_the_matrix_of_a_long_workflow(tmp_path: Path) -> None:
    folder = tmp_path / "ferry"
    (folder / ".github" / "workflows").mkdir(parents=True)
    (folder / "tests").mkdir()
    steps = FILLER.replace(" =", ":").replace("step", "  step")
    matrix = "jobs:\n  test:\n    strategy:\n      matrix:\n        python: [3.9, 3.14]\n"
    (folder / ".github" / "workflows" / "all.yml").write_text(f"name: all\nenv:\n{steps}{matrix}")
    (folder / "tests" / "test_range.py").write_text("def test_range():\n    assert range(3)\n")
    with Weft.open(tmp_path / "store") as weft:
        weft.index(folder)
        text = weft.context("which range of versions do we test against in CI?", max_tokens=500).text
    assert "python: [3.9, 3.14]" in text
    assert text.find("all.yml") < text.find("test_range") % len(text)
