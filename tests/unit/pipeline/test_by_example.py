"""Examples to follow when something is added: one of its kind, and the places that name all of them."""

from collections.abc import Iterator

import pytest

from weft import Weft
from weft.model import Context, Detail
from weft.pipeline.shape_phrases import Shape
from weft.pipeline.shapes import read_shapes

FILES = {
    "knots.py": '''"""Knots."""


class Knot:
    """A way to tie a rope."""


class ReefKnot(Knot):
    """Tie two ropes of one thickness."""

    def tie(self, rope):
        return rope.cross().cross()


class SheetBend(Knot):
    """Tie a thin rope to a thick one."""

    def tie(self, rope):
        return rope.bend()


class Bowline(Knot):
    """Tie a loop that does not slip."""

    def tie(self, rope):
        return rope.loop()


KNOTS_BY_NAME = {
    "reef": ReefKnot,
    "sheet": SheetBend,
    "bowline": Bowline,
}
''',
    "deck.py": '''"""The deck."""


class Deck:
    """Sweep and paint."""

    def sweep(self):
        return "swept"
''',
}


@pytest.fixture(scope="module")
def weft(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Weft]:
    folder = tmp_path_factory.mktemp("rigging")
    (folder / "rigging").mkdir()
    for name, text in FILES.items():
        (folder / "rigging" / name).write_text(text)
    with Weft.open(folder / "store") as opened:
        opened.index(folder / "rigging")
        yield opened


def wanted(context: Context) -> list[str]:
    return [
        entry.title
        for entry in context.ledger
        if "shape_example" in entry.parts and entry.detail is not Detail.DROPPED
    ]


@pytest.mark.parametrize(
    "question",
    [
        "how do I add a new knot?",
        "I want to add another knot that ties a rope",
        "which existing knot is the closest template, and where does a new one have to be registered?",
    ],
)
def test_an_example_and_its_registration_are_on_the_page(weft: Weft, question: str) -> None:
    context = weft.context(question, max_tokens=500)
    assert '"bowline": Bowline' in context.text
    assert any(f"class {name}(Knot)" in context.text for name in ("ReefKnot", "SheetBend", "Bowline"))
    assert "knots.py, part 2" in wanted(context)


def test_the_smallest_is_taken_where_that_is_asked_for(weft: Weft) -> None:
    context = weft.context("I want to add a new knot. Show me the smallest one to copy.", max_tokens=500)
    assert "SheetBend" in wanted(context) or "Bowline" in wanted(context)
    assert "ReefKnot" not in wanted(context)


def test_where_nothing_of_the_kind_is_there_no_example_is_made_up(weft: Weft) -> None:
    assert wanted(weft.context("how do I add a new deck?", max_tokens=500)) == []


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("How do I write a custom exporter?", True),
        ("We need to register another handler", True),
        ("where must a new backend be plugged in?", True),
        ("how does the queue add a job?", False),
        ("what is a knot?", False),
    ],
)
def test_the_shape_is_read_from_the_wording(question: str, asked: bool) -> None:
    assert (Shape.EXAMPLE in read_shapes(question).asked) is asked


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Weft]:
    """A small web framework: parameter types extend a base, and each middleware is a folder of its own."""
    folder = tmp_path_factory.mktemp("framework")
    files = {
        "README.md": "# App\n\nA framework. To add a new part, write it beside the others of its type.\n",
        "app/types.py": "class ParamType:\n    name = ''\n"
        + "".join(
            f"\n\nclass {name}Type(ParamType):\n    name = '{name.lower()}'\n\n    def convert(self, value):\n"
            f"        return {name.lower()}_of(value, strict=True)\n"
            for name in ("Colour", "Weight", "Length", "Angle")
        ),
        "app/registry.py": "from app.types import *\n\n\ndef known_types():\n"
        "    return [ColourType(), WeightType(), LengthType(), AngleType()]\n",
        "package.json": '{"name": "app", "exports": {\n'
        + ",\n".join(f'  "./{name}": "./app/middleware/{name}/index.ts"' for name in ("etag", "cors", "cache"))
        + "}}\n",
    }
    for name in ("etag", "cors", "cache"):
        files[f"app/middleware/{name}/index.ts"] = (
            f"export const {name} = (options?: Options) => {{\n"
            f"  return async (c, next) => {{ await next(); c.header('x-{name}') }}\n}}\n"
        )
        files[f"app/middleware/{name}/index.test.ts"] = f"it('sets {name}', () => {{ {name}() }})\n"
    for name, text in files.items():
        (folder / "work" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "work" / name).write_text(text)
    with Weft.open(folder / "store") as opened:
        opened.index(folder / "work")
        yield opened


def test_what_extends_the_base_of_that_name_is_an_example_with_its_method_whole(app: Weft) -> None:
    context = app.context("How do I add a new parameter type?", max_tokens=500)
    assert "(ParamType)" in context.text and "_of(value, strict=True)" in context.text
    assert "known_types" in wanted(context)


def test_what_the_folder_of_that_name_holds_is_an_example_with_the_settings_that_list_it(app: Weft) -> None:
    context = app.context("How do I add a new middleware?", max_tokens=500)
    assert "await next()" in context.text and "./app/middleware/cors/index.ts" in context.text
    assert not any(title.startswith("sets") for title in wanted(context))
