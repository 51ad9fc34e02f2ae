"""Two short texts: the same, a contradiction, or neither."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from weft.text.judge import Verdict, judge


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("Use tabs for indentation.", "use tabs for indentation"),
        ("Please always use tabs for indentation", "Use tabs for indentation"),
        ("The deploy job needs the staging token", "The deploy job needs the staging tokne"),
        ("The cache lives in Redis on port 6379", "The cache lives in Redis, on port 6379!"),
        ("Никогда не пушить в main", "Никогда не пушить в main."),
        ("端口是 8080", "端口是 8080"),
    ],
)
def test_other_punctuation_fillers_and_typing_errors_say_the_same(new: str, old: str) -> None:
    assert judge(new, old).verdict is Verdict.SAME


@pytest.mark.parametrize(
    ("new", "old", "why"),
    [
        ("Retry 5 times on a timeout", "Retry 3 times on a timeout", "number"),
        ("Do not run migrations on start", "Run migrations on start", "negates"),
        ("The linter must never touch generated files", "The linter must touch generated files", "negates"),
        ("Use spaces for indentation", "Use tabs for indentation", "choice"),
        ("Use spaces", "Use tabs", "choice"),
        ("We use uv", "We use pip", "choice"),
        ("We use Postgres for the job queue", "We use Redis for the job queue", "choice"),
        ("Uninstall the proxy before the tests", "Install the proxy before the tests", "choice"),
        ("Pin the build to Python 3.12", "Pin the build to Python 3.11", "number"),
        ("Use tabs", "4 spaces, not tabs", "choice"),
    ],
)
def test_another_number_choice_or_a_negation_may_contradict(new: str, old: str, why: str) -> None:
    judgement = judge(new, old)
    assert judgement.verdict is Verdict.CONTRADICTS
    assert why in judgement.why


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("Use tabs for indentation", "The staging server is called heron"),
        ("Run tests before migrations", "Run migrations before tests"),
        ("Tests are slow", "Tests are slow because every one of them starts its own database server"),
        ("", "Use tabs"),
    ],
)
def test_what_has_another_subject_order_or_extent_is_left_alone(new: str, old: str) -> None:
    assert judge(new, old).verdict is Verdict.OTHER


@given(some.text(max_size=200))
def test_a_text_never_contradicts_itself(text: str) -> None:
    assert judge(text, text).verdict is not Verdict.CONTRADICTS


@given(some.text(max_size=80), some.text(max_size=80))
def test_the_verdict_does_not_depend_on_who_came_first(one: str, other: str) -> None:
    assert judge(one, other).verdict is judge(other, one).verdict


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("The retry limit is 5", "The retry limit is 3"),
        ("We use pip instead of uv", "We use uv instead of pip"),
        ("Atlas' deadline is now June 1", "The deadline of Atlas is May 5"),
        ("We switched from pip to uv", "We use pip instead of uv"),
        ("We use uv instead of pip", "we use pip"),
        ("4 spaces, not tabs", "Use tabs"),
        ("The staging port has been changed from 8080 to 9090", "The staging port is 8080"),
        ("The release date of Heron is now 17 March", "Project Heron's release date is 3 March"),
        ("The budget for the kitchen went up to 5,500 euros", "The budget for the kitchen is 4,000 euros"),
        ("The licence costs 12 euros a month", "The licence costs 9 euros a month"),
        ("The sprint ends on Wednesday", "The sprint ends on Friday"),
    ],
)
def test_another_value_for_the_same_thing_supersedes(new: str, old: str) -> None:
    assert judge(new, old).verdict is Verdict.SUPERSEDES


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("Use spaces", "Use 4 spaces, not tabs"),
        ("Use 4 spaces, not tabs", "Use spaces"),
        ("Use tabs, not spaces, for makefiles", "Use spaces, not tabs"),
        ("Use tabs instead of spaces for makefiles", "Use spaces"),
        ("Use spaces", "Never use mocks"),
        ("A password requires 2 digits", "A password requires 8 characters"),
        ("Indent Python with 4 spaces", "Indent YAML with 2 spaces"),
        # Names that begin like a month or a day.
        ("Our team pays Marta 50 euros a day", "Our team pays Peter 60 euros a day"),
        ("The pool keeps MongoDB connections 50 seconds", "The pool keeps Postgres connections 60 seconds"),
        ("Use spaces", "We use pip"),
        ("We use Postgres", "We use pytest"),
        ("I prefer tea", "I prefer trains"),
        ("We use uv instead of pip", "Never use mocks"),
        ("Never use eval", "Never use mocks"),
        ("api key [redacted: secret]", "the staging password is [redacted: secret]"),
    ],
)
def test_what_does_not_exclude_the_other_leaves_it_alone(new: str, old: str) -> None:
    assert judge(new, old).verdict is Verdict.OTHER


def test_a_thing_that_can_have_two_qualities_keeps_both() -> None:
    assert judge("The API client is in Go", "The API client is slow").verdict is not Verdict.SUPERSEDES


def test_values_of_two_things_with_like_names_are_neither_the_same_nor_a_contradiction() -> None:
    for old in ("We moved the region of Peltovdel to Paris", "We moved the region of Peltovdel to Oregon"):
        assert judge("We moved the region of Peltovbar to Paris", old).verdict is Verdict.OTHER


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("Staging runs Debian 12 now", "The staging server runs Debian 11"),
        ("Lee owns billing now", "Kim owns billing"),
        ("I live in Hamburg now", "I live in Berlin"),
        ("I'm vegan", "I'm vegetarian"),
        ("We moved feature flags from LaunchDarkly to Unleash", "Feature flags are kept in LaunchDarkly"),
        ("We switched CI from CircleCI to Drone", "CI runs on CircleCI"),
    ],
)
def test_a_text_that_says_that_something_changed_supersedes(new: str, old: str) -> None:
    assert judge(new, old).verdict is Verdict.SUPERSEDES


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("Indentation is done with spaces", "Use tabs for indentation"),
        ("CI runs on CircleCI", "CI runs on GitHub Actions"),
        ("prod runs on Nomad", "prod runs on Kubernetes"),
        ("we use Redis for sessions", "we stopped using Redis"),
        ("Lee owns billing", "Kim owns billing"),
    ],
)
def test_another_choice_contradicts_in_another_order_and_without_its_parts(new: str, old: str) -> None:
    assert judge(new, old).verdict is Verdict.CONTRADICTS


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("Kim owns search", "Kim owns billing"),
        ("Always run mypy before committing", "Always run ruff before committing"),
        ("Put helpers in tests/util", "Put fixtures in tests/data"),
        ("The parser is fast on small files", "The parser is slow on large files"),
        ("Bob reviews backend PRs", "Alice reviews frontend PRs"),
        ("Use 4 spaces in Python", "Use 2 spaces in YAML"),
    ],
)
def test_two_things_that_can_both_be_true_do_not_contradict_each_other(new: str, old: str) -> None:
    assert judge(new, old).verdict is Verdict.OTHER


def test_an_apostrophe_that_was_not_typed_changes_nothing() -> None:
    assert judge("we dont use mocks", "we don't use mocks").verdict is Verdict.SAME
