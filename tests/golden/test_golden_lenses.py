"""The five lenses over one small workspace: each leads elsewhere, raises something else, shows other fields."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tana_world import workspace, write_export
from weft import Weft
from weft.model import Context

NOW = datetime(2026, 10, 1, tzinfo=UTC)
PAGES = Path(__file__).parent / "lenses"
LENSES = ("general", "writing", "coding", "planning", "meeting-prep")


@pytest.fixture(scope="module")
def weft(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Weft]:
    folder = tmp_path_factory.mktemp("lenses")
    with Weft.open(folder / "store") as opened:
        opened.index(write_export(folder / "export.json", workspace()), source="t")
        yield opened


def page(weft: Weft, lens: str, format: str = "markdown", **options: object) -> Context:
    return weft.context(start=("t:orchard",), profile="notes", lens=lens, format=format, now=NOW, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("lens", LENSES)
def test_the_page_of_the_lens_is_the_one_that_was_read_and_approved(
    lens: str, weft: Weft, request: pytest.FixtureRequest
) -> None:
    text, kept = page(weft, lens, max_tokens=1200).text, PAGES / f"{lens}.md"
    if request.config.getoption("--update-golden"):
        kept.write_bytes(text.encode())
    assert text.encode() == kept.read_bytes()


def test_every_two_lenses_print_different_pages() -> None:
    assert len({(PAGES / f"{lens}.md").read_bytes() for lens in LENSES}) == len(LENSES)


def first_of_kind(context: Context, kind: str) -> int:
    """At which place the first item of a kind stands; after all others when there is none."""
    kinds = [source.kind for source in context.sources]
    return kinds.index(kind) if kind in kinds else len(kinds)


@pytest.mark.parametrize(
    ("lens", "kind"),
    [("writing", "draft"), ("coding", "spec"), ("planning", "meeting"), ("meeting-prep", "person")],
)
def test_a_lens_brings_its_own_kind_of_note_no_later_than_the_general_one(
    weft: Weft, lens: str, kind: str
) -> None:
    options = {"max_tokens": None}
    assert first_of_kind(page(weft, lens, **options), kind) <= first_of_kind(
        page(weft, "general", **options), kind
    )


def test_meeting_prep_puts_people_before_everything_but_the_start(weft: Weft) -> None:
    kinds = [source.kind for source in page(weft, "meeting-prep", max_tokens=None).sources]
    assert kinds[0] == "project"
    assert "person" in kinds[1:4]


def test_writing_shows_no_fields_of_the_project_and_planning_does(weft: Weft) -> None:
    assert "Attendees" not in page(weft, "writing").text
    assert "**Owner**" in page(weft, "planning").text
    assert "**Attendees**" not in page(weft, "planning").text
    assert "**Attendees**" in page(weft, "meeting-prep").text


def test_a_lens_of_ones_own_beside_the_store_changes_the_page(tmp_path: Path) -> None:
    store = tmp_path / "store"
    (store / "profiles").mkdir(parents=True)
    said = 'description = "Only the fields."\nwalk = "breadth"\ndepth = 1\nedges = ["field"]\n'
    (store / "profiles" / "near.lens.toml").write_text(said, encoding="utf-8")
    with Weft.open(store) as weft:
        weft.index(write_export(tmp_path / "export.json", workspace()), source="t")
        keys = [source.key for source in page(weft, "near").sources]
    assert keys == ["t:orchard", "t:ines"]
