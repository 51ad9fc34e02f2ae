"""Experiences over a real store: started, attempted again, resolved once, found on four axes."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from weft import Weft
from weft.errors import InvalidInput, UnknownName
from weft.memory import (
    AXES,
    AlreadyResolved,
    Experience,
    Lesson,
    Outcome,
    RootCause,
    apply_outcome,
    experience_from_node,
    experience_nodes,
)
from weft.memory.experience_store import (
    find_experience,
    list_experiences,
    reopen_experience,
    resolve_experience,
    start_experience,
    update_experience,
)
from weft.model import Filter, Node, Origin, View

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = NOW + timedelta(hours=3)
STORY = {
    "domain": "debugging",
    "strategy": "read-the-error",
    "goal": "Make test_login pass",
    "hypothesis": "The proxy drops the session cookie",
    "action": "Log the headers in the middleware",
    "prediction": "The log shows no Set-Cookie header",
}
FAILED = Outcome(
    "falsified",
    "The header was there",
    surprise="The container's clock was an hour off",
    root_cause=RootCause("environment-issue", "Clock drift in the container"),
    lesson=Lesson("Compare the clocks first", "Time is part of the environment"),
)


@pytest.fixture
def weft(tmp_path: Path) -> Iterator[Weft]:
    with Weft.open(tmp_path / ".weft") as opened:
        yield opened


def start(weft: Weft, **more: object) -> Experience:
    return start_experience(weft.workshop(), now=NOW, **{**STORY, **more})  # type: ignore[arg-type]


def test_an_experience_is_open_until_it_is_resolved(weft: Weft) -> None:
    experience = start(weft)
    assert (experience.status, experience.tier, experience.iterations) == ("open", "", 1)
    assert find_experience(weft.workshop(), experience.id) == experience
    assert find_experience(weft.workshop(), experience.key) == experience
    changed = resolve_experience(weft.workshop(), experience.id, FAILED, now=LATER)
    assert (changed.status, changed.tier, changed.resolved) == ("falsified", "silver", LATER)
    assert find_experience(weft.workshop(), experience.id) == changed


def test_every_attempt_is_kept_as_history(weft: Weft) -> None:
    experience = start(weft)
    changed = update_experience(
        weft.workshop(),
        experience.id,
        now=LATER,
        hypothesis="The cookie expires at once",
        strategy="check-assumptions",
    )
    assert changed.iterations == 2
    assert (changed.before[0].hypothesis, changed.before[0].strategy) == (STORY["hypothesis"], STORY["strategy"])
    assert changed.before[0].at == NOW
    assert (changed.action, changed.attempted) == (STORY["action"], LATER)
    assert find_experience(weft.workshop(), experience.id) == changed
    same = update_experience(weft.workshop(), experience.id, now=LATER, action=STORY["action"], files=["a.py"])
    assert (same.iterations, same.files) == (2, ("a.py",))


def test_a_resolved_experience_survives_the_way_to_its_nodes_and_back(weft: Weft) -> None:
    changed = apply_outcome(start(weft, files=("a.py",)), FAILED, LATER)
    assert experience_from_node(experience_nodes(changed)[0]) == changed


@pytest.mark.parametrize(
    ("status", "automatic", "hypothesis", "tier"),
    [
        ("confirmed", True, "The proxy drops the cookie", "gold"),
        ("falsified", False, "The proxy drops the cookie", "silver"),
        ("falsified", False, "Maybe something with the proxy", "bronze"),
        ("confirmed", False, "cookies?", "bronze"),
        ("abandoned", True, "The proxy drops the cookie", "abandoned"),
    ],
)
def test_the_tier_says_how_the_outcome_is_known(
    weft: Weft, status: str, automatic: bool, hypothesis: str, tier: str
) -> None:
    experience = start(weft, hypothesis=hypothesis)
    outcome = Outcome(status, "seen", automatic=automatic)
    assert resolve_experience(weft.workshop(), experience.id, outcome, now=LATER).tier == tier


def test_each_axis_can_be_searched_and_filtered_alone(weft: Weft) -> None:
    changed = resolve_experience(weft.workshop(), start(weft).id, FAILED, now=LATER)
    found = {}
    for axis in AXES:
        only = Filter(kinds=("experience",), where=(("axis", axis), ("domain", "debugging")))
        (node,) = weft.nodes(filter=only)
        found[axis] = node.text
        assert node.fields["experience_id"] == changed.id
    assert found["surprise"] == "The container's clock was an hour off"
    assert found["root_cause"] == "environment-issue: Clock drift in the container"
    assert "read-the-error in debugging was falsified." in found["strategy"]
    assert all(
        words in found["full"] for words in (STORY["goal"], STORY["prediction"], "Compare the clocks first")
    )
    surprises = Filter(where=(("axis", "surprise"),))
    assert [each.node.text for each in weft.search("clock", filter=surprises).candidates] == [found["surprise"]]


def test_axes_without_anything_to_tell_are_left_out(weft: Weft) -> None:
    experience = start(weft)
    assert len(weft.nodes(filter=Filter(kinds=("experience",)))) == 1
    resolve_experience(weft.workshop(), experience.id, Outcome("confirmed", "It passes"), now=LATER)
    axes = {str(node.fields["axis"]) for node in weft.nodes(filter=Filter(kinds=("experience",)))}
    assert axes == {"full", "strategy"}


def test_an_experience_is_resolved_once(weft: Weft) -> None:
    experience = start(weft)
    resolve_experience(weft.workshop(), experience.id, FAILED, now=LATER)
    with pytest.raises(AlreadyResolved, match="resolved as falsified"):
        resolve_experience(weft.workshop(), experience.id, Outcome("confirmed", "no"), now=LATER)
    with pytest.raises(AlreadyResolved):
        update_experience(weft.workshop(), experience.id, now=LATER, action="again")


def test_of_two_who_resolve_at_once_one_is_told_so(weft: Weft, tmp_path: Path) -> None:
    experience = start(weft)

    def resolve(result: str) -> str:
        with Weft.open(tmp_path / ".weft") as mine:
            try:
                return resolve_experience(
                    mine.workshop(), experience.id, Outcome("confirmed", result), now=LATER
                ).result
            except AlreadyResolved:
                return "refused"

    with ThreadPoolExecutor(4) as agents:
        results = sorted(agents.map(resolve, ("one", "two", "three", "four")))
    assert results.count("refused") == 3
    assert find_experience(weft.workshop(), experience.id).result in results


def test_experiences_are_listed_newest_first_by_domain_strategy_and_outcome(weft: Weft) -> None:
    one = start(weft)
    two = start(weft, domain="testing", strategy="ask-user", goal="Another")
    three = start(weft, goal="A third")
    indexing = weft.workshop()
    two = resolve_experience(indexing, two.id, FAILED, now=LATER)
    assert list_experiences(indexing) == (three, two, one)
    assert list_experiences(indexing, domain="testing") == (two,)
    assert list_experiences(indexing, strategy="read-the-error", limit=1) == (three,)
    assert list_experiences(indexing, status="open") == (three, one)
    assert list_experiences(indexing, status="falsified") == (two,)


def test_an_experience_leads_to_its_files_and_the_commits_made_meanwhile(weft: Weft) -> None:
    def commit(key: str, at: datetime) -> Node:
        return Node(f"git:{key}", "commit", title=f"Change {key}", created=at, modified=at)

    weft.put(
        [
            Node("repo:src/proxy.py", "file", title="src/proxy.py", origin=Origin("repo", "src/proxy.py")),
            commit("before", NOW - timedelta(hours=1)),
            commit("within", NOW + timedelta(hours=1)),
            commit("after", LATER + timedelta(hours=1)),
        ]
    )
    experience = start(weft, files=("src/proxy.py", "no/such/file.py"))
    resolve_experience(weft.workshop(), experience.id, FAILED, now=LATER)
    linked = {(edge.type, node.key) for node, edge in weft.related(experience.key)}
    assert {("touches", "repo:src/proxy.py"), ("during", "git:within")} == linked


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_what_is_indexed_after_its_outcome_is_linked_with_an_experience_too(weft: Weft, tmp_path: Path) -> None:
    experience = start(weft, files=("proxy.py",))
    resolve_experience(weft.workshop(), experience.id, FAILED, now=LATER)
    repository = tmp_path / "repository"
    repository.mkdir()
    (repository / "proxy.py").write_text("def cookie() -> None:\n    pass\n")
    moment = (NOW + timedelta(hours=1)).isoformat()
    for words in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", "Keep the cookie")):
        person = {f"GIT_{who}_{what}": "A" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        dates = {"GIT_AUTHOR_DATE": moment, "GIT_COMMITTER_DATE": moment}
        subprocess.run(["git", *words], cwd=repository, check=True, env={**os.environ, **person, **dates})
    first = weft.index(repository)
    linked = [(edge.type, node.title) for node, edge in weft.related(experience.key)]
    assert sorted(linked) == [("during", "Keep the cookie"), ("touches", "proxy.py")]
    assert weft.index(repository).sequence == first.sequence


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"domain": "cooking"}, "configuration, debugging, documentation"),
        ({"strategy": "luck"}, "ask-user, check-assumptions"),
        ({"goal": " "}, "goal is empty"),
        ({"action": "x" * 20_001}, "20,001 characters"),
    ],
)
def test_what_is_no_experience_is_refused_with_what_is_allowed(
    weft: Weft, given: dict[str, str], says: str
) -> None:
    with pytest.raises(InvalidInput, match=says):
        start(weft, **given)
    assert weft.nodes() == ()


def test_outcomes_and_causes_outside_the_vocabulary_are_refused(weft: Weft) -> None:
    experience, indexing = start(weft), weft.workshop()
    for outcome, says in (
        (Outcome("done", "x"), "abandoned, confirmed, falsified"),
        (Outcome("falsified", "x", root_cause=RootCause("gremlins")), "wrong-assumption"),
    ):
        with pytest.raises(UnknownName, match=says):
            resolve_experience(indexing, experience.id, outcome, now=LATER)
    assert resolve_experience(indexing, experience.id, Outcome("abandoned", ""), now=LATER).status == "abandoned"


def test_a_missing_experience_is_named(weft: Weft) -> None:
    for call in (find_experience, update_experience, resolve_experience):
        more = {} if call is find_experience else {"now": NOW}
        words = ("nothing", FAILED) if call is resolve_experience else ("nothing",)
        with pytest.raises(InvalidInput, match=r"'nothing'.*weft experience list"):
            call(weft.workshop(), *words, **more)  # type: ignore[operator]


def test_a_bare_node_of_another_tool_is_an_experience_too() -> None:
    changed = experience_from_node(
        Node("experience:x", "experience", fields={"goal": "G", "lesson": "plain", "files": "a"})
    )
    assert (changed.id, changed.goal, changed.status, changed.lesson, changed.files) == (
        "x",
        "G",
        "open",
        None,
        (),
    )


def test_secrets_are_taken_out_of_every_axis(weft: Weft) -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 4
    experience = start(weft, action=f"Push with {secret}")
    assert secret not in experience.action
    leaked = Outcome("falsified", f"{secret} was refused", surprise=f"{secret} had expired")
    resolve_experience(weft.workshop(), experience.id, leaked, now=LATER)
    assert not any(secret in f"{node.text}{node.fields}" for node in weft.nodes())


def test_an_outcome_that_is_taken_back_leaves_an_open_experience_and_a_record(weft: Weft) -> None:
    experience = start(weft)
    outcome = replace(FAILED, automatic=True, witness="`pytest`")
    resolved = resolve_experience(weft.workshop(), experience.id, outcome, now=LATER)
    assert (resolved.tier, resolved.tier_reason) == ("gold", "reported by `pytest`")
    opened = reopen_experience(weft.workshop(), experience.id)
    assert (opened.status, opened.tier, opened.result, opened.resolved) == ("open", "", "", None)
    assert opened.withdrawn == (f"falsified (gold) on {LATER:%Y-%m-%d}: {FAILED.result}",)
    with weft.store.snapshot(View()) as snapshot:
        assert len(snapshot.matching_ids(Filter(kinds=("experience",)))) == 1
    assert resolve_experience(weft.workshop(), experience.id, FAILED, now=LATER).withdrawn == opened.withdrawn


def test_an_open_experience_has_no_outcome_to_take_back(weft: Weft) -> None:
    with pytest.raises(InvalidInput, match="has no outcome to take back"):
        reopen_experience(weft.workshop(), start(weft).id)


def test_the_tier_says_why(weft: Weft) -> None:
    by_hand = resolve_experience(weft.workshop(), start(weft).id, FAILED, now=LATER)
    vague = start(weft, hypothesis="maybe the cache")
    given_up = resolve_experience(weft.workshop(), vague.id, FAILED, now=LATER)
    assert by_hand.tier_reason == "resolved by hand"
    assert given_up.tier_reason.endswith("the hypothesis says too little to be proven wrong")
