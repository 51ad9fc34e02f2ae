"""Which shell commands are tests or builds, and what came of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.interfaces.hooks.commands import Run, find_run
from weft.interfaces.hooks.outcomes import first_error, judge, predicts_failure, summary_line

TESTS = [
    "pytest",
    "pytest -q tests/unit -k 'login and not slow'",
    "cd app && .venv/bin/python -m pytest -x",
    "PYTHONPATH=src timeout 60 uv run pytest",
    "npm test",
    "npm run test:unit",
    "yarn test --watch=false",
    "pnpm exec vitest run",
    "npx jest src/a.test.ts",
    "cargo test --workspace",
    "cargo nextest run",
    "go test ./...",
    "./gradlew :app:test",
    "mvn -q test",
    "make -C server test",
    "python manage.py test shop",
    "python3.11 -m unittest discover",
    "bundle exec rspec",
    "dotnet test",
    "(cd web; bun test)",
]
BUILDS = [
    "make",
    "make -j4 all",
    "npm run build",
    "cargo build --release",
    "go build ./cmd/x",
    "tsc --noEmit",
    "npx tsc -p .",
    "cmake --build out",
    "docker build -t x .",
    "python -m build",
    "./gradlew assemble",
    "gcc -O2 -o a a.c",
]
NEITHER = [
    "",
    "ls -la",
    "git commit -m 'run pytest in CI'",
    "echo pytest",
    "grep -rn 'npm test' .",
    "pip install pytest",
    "which pytest",
    "python -c 'import pytest'",
    "cat > t.py <<'EOF'\npytest\nEOF\n",
    "make install",
    "npm install",
    "npm run lint",
    "cargo run",
    "vim Makefile",
    "echo 'unfinished",
    "python tests.py",
    "pytest &",
]


@pytest.mark.parametrize("command", TESTS)
def test_test_commands_are_known(command: str) -> None:
    run = find_run(command)
    assert run is not None and run.kind == "test"


@pytest.mark.parametrize("command", BUILDS)
def test_build_commands_are_known(command: str) -> None:
    run = find_run(command)
    assert run is not None and run.kind == "build"


@pytest.mark.parametrize("command", NEITHER)
def test_other_commands_are_neither(command: str) -> None:
    assert find_run(command) is None


@given(st.text(st.sampled_from("pytest npm&|;()<>\"'\\$\n =-"), max_size=40))
def test_any_command_can_be_looked_at(command: str) -> None:
    find_run(command)


@pytest.mark.parametrize(
    ("command", "hidden", "followed"),
    [
        ("pytest 2>&1", False, False),
        ("pytest > log.txt 2>&1", False, False),
        ("pytest | tail -5", True, True),
        ("set -o pipefail; pytest | tail -5", False, True),
        ("set -o pipefail; pytest; echo done", True, True),
        ("pytest; echo done", True, True),
        ("pytest || true", True, True),
        ("pytest\necho done", True, True),
        ("pytest && git push", False, True),
        ("npm install && npm test", False, False),
    ],
)
def test_it_is_known_whether_the_exit_code_is_the_tests_own(command: str, hidden: bool, followed: bool) -> None:
    run = find_run(command)
    assert run is not None and (run.is_exit_code_hidden, run.is_followed) == (hidden, followed)


def test_the_words_of_a_run_are_told_without_redirections() -> None:
    run = find_run("cd app; FOO=1 pytest -q 2>&1 >log.txt | tail -3")
    assert run is not None and run.words == "FOO=1 pytest -q"


OWN, HIDDEN, FOLLOWED = Run("test", "t"), Run("test", "t", True, True), Run("test", "t", False, True)


@pytest.mark.parametrize(
    ("run", "failed", "output", "expected"),
    [
        (OWN, False, "", "passed"),
        (OWN, True, "Exit code 1\n", "failed"),
        (OWN, True, "Command exited with non-zero status code 1", "failed"),
        (OWN, False, "2 failed, 3 passed in 0.4s", "failed"),
        (OWN, True, "Exit code 127\nbash: pytest: command not found", None),
        (OWN, True, "Exit code 124", None),
        (OWN, True, "Command timed out after 2m 0.0s", None),
        (OWN, True, "Exit code 5\nno tests ran in 0.01s", None),
        (HIDDEN, False, "some lines", None),
        (HIDDEN, True, "Exit code 1", None),
        (HIDDEN, False, "=== 3 passed in 0.4s ===", "passed"),
        (HIDDEN, False, "1 failed, 2 passed in 0.4s", "failed"),
        (HIDDEN, False, "test result: FAILED. 1 passed; 1 failed;", "failed"),
        (HIDDEN, False, "test result: ok. 4 passed; 0 failed;", "passed"),
        (HIDDEN, False, "Tests:       1 failed, 4 passed, 5 total", "failed"),
        (HIDDEN, False, "Tests:       5 passed, 5 total", "passed"),
        (HIDDEN, False, "--- FAIL: TestX (0.00s)\nFAIL", "failed"),
        (HIDDEN, False, "ok  \texample.com/x\t0.01s", "passed"),
        (HIDDEN, False, "src/a.ts(3,1): error TS2304: Cannot find name 'x'.", "failed"),
        (HIDDEN, False, "Ran 3 tests in 0.001s\n\nOK", "passed"),
        (HIDDEN, False, "3 examples, 0 failures", "passed"),
        (HIDDEN, False, "BUILD SUCCESSFUL in 3s", "passed"),
        (FOLLOWED, True, "Exit code 1\n3 passed in 0.1s\nerror pushing", "passed"),
        (FOLLOWED, True, "Exit code 1\n", "failed"),
    ],
)
def test_the_verdict_follows_the_exit_code_or_the_output(
    run: Run, failed: bool, output: str, expected: str | None
) -> None:
    assert judge(run, failed, output) == expected


def test_the_telling_line_and_the_first_error_are_found() -> None:
    output = (
        "Exit code 1\n....F\n"
        "E       KeyError: 'user'\n"
        "FAILED tests/test_login.py::test_cookie - KeyError: 'user'\n"
        "==== 1 failed, 4 passed in 0.31s ====\n"
    )
    assert summary_line(output) == "1 failed, 4 passed in 0.31s"
    assert first_error(output) == "KeyError: 'user'"
    assert summary_line(f"{output}make: *** [Makefile:3: test] Error 1\n") == "1 failed, 4 passed in 0.31s"
    assert summary_line("one\ntwo\n\n") == "two"
    assert summary_line("") == first_error("all fine") == ""


@pytest.mark.parametrize(
    ("prediction", "expected"),
    [
        ("The new test fails with KeyError", True),
        ("It crashes in the parser", True),
        ("All tests pass", False),
        ("The failing test passes", False),
        ("The test no longer fails", False),
        ("It doesn't fail", False),
        ("0 failures", False),
        ("The log shows the cookie", False),
    ],
)
def test_a_prediction_may_expect_a_failure(prediction: str, expected: bool) -> None:
    assert predicts_failure(prediction) is expected
