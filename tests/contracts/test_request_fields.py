"""A field of a request is described once, and every interface shows it and passes it on."""

import importlib.util
import inspect
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from weft import Weft
from weft.interfaces.cli import context as command_line
from weft.interfaces.client import WeftClient, add_context_options
from weft.interfaces.mcp.arguments import read_arguments, schema_of
from weft.interfaces.request import CONTEXT_FIELDS, SEARCH_FIELDS, RequestField, fields_for, make_request
from weft.interfaces.rest.requests import ContextRequest, page_model
from weft.model import FORMATS, Request
from weft.profiles.types import Match
from weft.render.page import FORMATS as PRINTED_FORMATS

ROOT = Path(__file__).parents[2]
NEW = RequestField(
    "mood",
    "text",
    "The mood of the page.",
    ("humour",),
    ("calm", "brisk"),
    destination="parameter",
    metavar="WORD",
)
FIELDS = (*CONTEXT_FIELDS, NEW)


def test_one_new_row_is_an_option_of_the_command_line() -> None:
    command = command_line.make_context_command(FIELDS)
    assert "mood" in inspect.signature(command).parameters
    app = typer.Typer()
    app.command()(command)
    shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"})
    assert "--mood" in shown.stdout
    assert "The mood of the page." in shown.stdout


def test_what_the_command_line_is_given_reaches_the_page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: dict[str, Any] = {}

    def remember(weft: Weft, values: dict[str, Any]) -> Any:
        asked.update(values)
        raise typer.Exit(0)

    monkeypatch.setattr(command_line, "ask", remember)
    Weft.open(tmp_path / ".weft").close()
    app = typer.Typer()
    app.command()(command_line.make_context_command(FIELDS))
    CliRunner().invoke(app, ["boots", "--mood", "calm", "--store", str(tmp_path / ".weft")])
    assert asked["mood"] == "calm"
    assert asked["topic"] == ("boots",)


def test_one_new_row_is_an_argument_of_the_tools() -> None:
    shown = schema_of(fields_for("mcp", FIELDS))["properties"]["mood"]
    assert shown == {"type": "string", "enum": ["calm", "brisk"], "description": "The mood of the page."}
    assert read_arguments({"Humour": "CALM"}, fields_for("mcp", FIELDS)) == {"mood": "calm"}


def test_one_new_row_is_a_field_of_the_service() -> None:
    model = page_model(FIELDS)
    shown = model.model_json_schema()["properties"]["mood"]
    assert shown["description"] == "The mood of the page."
    assert json.loads(model.model_validate({"mood": "calm"}).model_dump_json())["mood"] == "calm"
    with pytest.raises(ValueError, match="mood"):
        model.model_validate({"mood": "wild"})


def test_one_new_row_is_a_parameter_of_the_client() -> None:
    def context(self: WeftClient, query: str, tenant_ids: Sequence[str], **options: Any) -> None:
        """Stand for a method of the client."""

    assert "mood" in inspect.signature(add_context_options(context, FIELDS)).parameters
    assert "session" in inspect.signature(WeftClient.context).parameters


def test_one_new_row_is_a_line_of_the_reference() -> None:
    assert "| mood | `--mood` | `mood` | `mood` | The mood of the page. One of calm, brisk. |" in reference(FIELDS)


def test_the_value_of_a_new_row_is_a_parameter_of_the_profile() -> None:
    request = make_request({"mood": "calm"}, question="boots", profile="", fields=FIELDS)
    assert request == Request("boots", parameters={"mood": "calm"})


def test_values_that_were_left_out_keep_the_defaults_of_a_request() -> None:
    left_out = dict.fromkeys([field.name for field in CONTEXT_FIELDS if field.kind != "budget"])
    assert make_request(left_out, profile="") == Request()
    assert make_request({"max_tokens": None}, profile="general").max_tokens is None


def test_the_reference_page_is_up_to_date() -> None:
    assert (ROOT / "docs" / "request.md").read_text("utf-8") == reference(), (
        "run python scripts/request_reference.py"
    )


def test_every_page_field_of_the_engine_is_described() -> None:
    described = {field.name for field in CONTEXT_FIELDS if field.destination == "request"}
    # What the words mean, what the caller brings, and what is made of other fields.
    made = {"question", "start", "topics", "filter", "view", "candidates", "received"}
    assert described == set(names_of(Request)) - made


def test_lists_of_choices_are_written_once() -> None:
    assert FORMATS == PRINTED_FORMATS
    match = next(field for field in SEARCH_FIELDS if field.name == "match")
    assert set(match.choices) <= set(Match.__args__)  # type: ignore[attr-defined]
    assert set(ContextRequest.model_fields) >= {field.name for field in fields_for("rest", CONTEXT_FIELDS)}
    assert Request().profile == ""


def names_of(record: type) -> list[str]:
    return list(inspect.signature(record).parameters)


def reference(context_fields: Sequence[RequestField] = CONTEXT_FIELDS) -> str:
    spec = importlib.util.spec_from_file_location("request_reference", ROOT / "scripts" / "request_reference.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    made: str = script.reference(context_fields)
    return made
