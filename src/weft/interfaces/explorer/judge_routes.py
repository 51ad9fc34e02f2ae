"""The routes of the view Judge: how the current settings do on marked lines, and the marks as a judged set."""

from typing import Annotated, Final
from urllib.parse import parse_qs

import orjson
from fastapi import APIRouter
from pydantic import Field
from starlette.responses import Response

from weft.evaluation.marks import Mark, judge_marks, to_fact_set
from weft.interfaces.explorer.asked import Asked, answer, read_request, read_side
from weft.interfaces.explorer.shell import answered
from weft.interfaces.explorer.store_routes import Asking, check_may_write
from weft.interfaces.rest.access import CurrentCaller, Service, Turn
from weft.interfaces.rest.requests import Known
from weft.model import DEFAULT_TENANT, Context
from weft.runtime.files import replace_file

router = APIRouter(prefix="/explore")

_FOLDER: Final = "judged"
"""The folder beside the store in which judged sets are saved."""


class MarkIn(Known):
    """One marked line."""

    question: Annotated[str, Field(min_length=1, max_length=2000)]
    line: Annotated[str, Field(min_length=1, max_length=4000)]
    needed: bool


class Judged(Known):
    """Marked lines, and the address of the settings that are judged by them."""

    marks: Annotated[list[MarkIn], Field(min_length=1, max_length=2000)]
    asked: Annotated[str, Field(max_length=8000)] = ""
    name: Annotated[str, Field(pattern=r"^[\w][\w .-]{0,60}$")] = "marks"


@router.post("/judge")
def judge(body: Judged, service: Service, caller: CurrentCaller, turn: Turn) -> Response:
    """Return which of the marked lines the pages of these settings show, and the set for `weft eval`."""
    weft = service.weft()
    marks = _marks(body)
    asked = read_side(parse_qs(body.asked))

    def make_page(question: str) -> Context:
        request, _ = read_request(
            service, Asked.model_validate({**asked.model_dump(), "topic": [question]}), caller
        )
        return answer(weft, request)

    with turn:
        score = judge_marks(marks, make_page)
    has_needed = any(mark.needed for mark in marks)
    return answered({"score": score, "set": to_fact_set(body.name, marks) if has_needed else None})


def _marks(body: Judged) -> list[Mark]:
    return [Mark(mark.question, mark.line, mark.needed) for mark in body.marks]


@router.post("/write/judged")
def save_judged(body: Judged, service: Service, caller: CurrentCaller, header: Asking = None) -> Response:
    """Write the marks beside the store as a set for `weft eval`, and return where."""
    check_may_write(service, caller, DEFAULT_TENANT, header)
    folder = service.weft().folder / _FOLDER
    folder.mkdir(exist_ok=True)
    file = folder / f"{body.name}.json"
    replace_file(file, orjson.dumps(to_fact_set(body.name, _marks(body)), option=orjson.OPT_INDENT_2))
    return answered({"file": str(file)})
