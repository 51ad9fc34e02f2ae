"""`weft ask`: a page goes to a model, and a cited answer comes back, over a stand-in for the model's server."""

import json
from pathlib import Path

import pytest
from command_line import Cli
from model_server import Reply, completion, serve_model

KEY = "sk-very-secret-0123456789"


@pytest.fixture
def kitchen(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """The command line in a folder with two indexed notes, with a key in its environment."""
    Path("oven.md").write_text("# Oven\n\nPreheat the oven to 180 degrees before baking bread.\n", "utf-8")
    Path("bread.md").write_text("# Bread\n\nBread rests for an hour before it goes into the oven.\n", "utf-8")
    assert cli("index", ".").code == 0
    monkeypatch.setenv("WEFT_ASK_KEY", f"{KEY}\n")
    monkeypatch.setenv("WEFT_ASK_MODEL", "small")
    return cli


def test_the_model_gets_the_page_with_numbered_sources_and_the_answer_comes_with_those_it_used(
    kitchen: Cli,
) -> None:
    def reply(body: dict[str, object]) -> tuple[int, object]:
        prompt = str(body["messages"])
        number = 1 if prompt.index("oven.md") < prompt.index("bread.md", prompt.index("Sources:")) else 2
        return completion(f"To 180 degrees [{number}].")

    with serve_model(reply) as server:
        done = kitchen("ask", "how hot must the oven be for bread?", "--endpoint", server.url)
    assert done.code == 0, done.err
    ((path, key, body),) = server.requests
    assert (path, key, body["model"]) == ("/v1/chat/completions", f"Bearer {KEY}", "small")
    assert "Preheat the oven to 180 degrees" in body["messages"][1]["content"]
    assert body["messages"][1]["content"].endswith("Question: how hot must the oven be for bread?")
    answer, _, sources = done.out.partition("\nUsed:\n")
    assert answer.startswith("To 180 degrees [")
    used, _, ignored = sources.partition("\nIgnored:\n")
    assert "oven.md" in used and "bread.md" not in used
    assert "bread.md" in ignored


def test_json_has_the_answer_the_sources_and_numbers_that_are_none(
    kitchen: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve_model(lambda body: completion("Hot [1, 2], says [77].")) as server:
        monkeypatch.setenv("WEFT_ASK_URL", server.url)
        told = json.loads(kitchen("ask", "how hot is the oven?", "--json").out)
    assert told["answer"] == "Hot [1, 2], says [77]."
    assert {source["number"] for source in told["used"]} == {1, 2}
    assert (told["ignored"], told["unknown"], told["model"]) == ([], [77], "small")
    assert told["context"]


def test_an_answer_without_a_source_is_doubted(kitchen: Cli) -> None:
    with serve_model(lambda body: completion("\x1b[31mIt is known.")) as server:
        done = kitchen("ask", "how hot is the oven?", "--endpoint", server.url)
    assert "cites none of the sources" in done.err
    assert "\x1b" not in done.out


@pytest.mark.parametrize("rule", [None, "Always answer in one sentence."])
def test_no_model_is_asked_where_the_store_says_nothing(kitchen: Cli, rule: str | None) -> None:
    if rule:
        assert kitchen("remember", rule).code == 0
    with serve_model(lambda body: completion("Made up.")) as server:
        done = kitchen("ask", "when did Napoleon cross the Alps?", "--endpoint", server.url)
    assert done.code == 0
    assert server.requests == []
    assert "no model was asked" in done.out


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (lambda body: (401, {"error": {"message": f"Incorrect API key provided: {KEY}"}}), "answered 401"),
        (lambda body: (500, f"<html>{KEY} is down</html>".encode()), "answered 500"),
        (lambda body: (200, b"not json"), "not JSON"),
        (lambda body: (200, {"choices": []}), "no chat completion"),
        (lambda body: completion("  "), "empty message"),
        (lambda body: (307, {"to": "http://127.0.0.1:9/v1"}), "answered 307"),
    ],
)
def test_every_failure_names_the_server_and_never_the_key(kitchen: Cli, reply: Reply, problem: str) -> None:
    with serve_model(reply) as server:
        done = kitchen("ask", "how hot is the oven?", "--endpoint", server.url, "--debug")
        assert done.code == 2
        assert problem in done.err
        assert f"{server.url}/chat/completions" in done.err
        assert KEY not in done.err + done.out
    assert len(server.requests) == 1


def test_a_server_that_is_not_there_and_an_address_that_is_none_are_told(kitchen: Cli) -> None:
    gone = kitchen("ask", "how hot is the oven?", "--endpoint", "http://127.0.0.1:9/v1")
    assert gone.code == 2 and "cannot be reached" in gone.err
    for address in ("ftp://127.0.0.1/v1", "https://ann:hunter2@example.org/v1", "localhost:11434"):
        refused = kitchen("ask", "how hot is the oven?", "--endpoint", address)
        assert refused.code == 2
        assert "is no address of a server" in refused.err
        assert "hunter2" not in refused.err


def test_without_an_address_or_a_model_the_variables_are_named(
    kitchen: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WEFT_ASK_MODEL")
    done = kitchen("ask", "how hot is the oven?")
    assert done.code == 2
    assert "needs an address and a model. Set WEFT_ASK_URL and WEFT_ASK_MODEL" in done.err
