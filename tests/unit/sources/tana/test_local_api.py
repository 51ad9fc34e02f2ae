"""Nodes as the Local API of Tana prints them."""

from hypothesis import given
from hypothesis import strategies as st

from weft.sources.tana.local_api import parse_node

VISIT = """\
- [x] Visit the orangery #small_task <!-- node-id: visit -->
  - **Packed**: [ ]
  - **Paid**: [x]
  - **Minutes**: 90 <!-- node-id: minutes -->
  - **Area**: [4. Home & Garden #life_area #old](tana:area)
  - **Topic(s)**:
    - [Glass #topic](tana:glass)
    - [Issue #12](tana:putty)
    - plain words <!-- node-id: words -->
  - **Report**:
    - What was said: <!-- node-id: said -->
      - The glass is old. <!-- node-id: old -->
      - **Price**: 40
  - **Empty**:
  - Ask [Ada Quill #person](tana:ada) first <!-- node-id: ask -->
    - **Phone**: 555
"""


def test_fields_are_told_with_one_value_or_several() -> None:
    fields = parse_node(VISIT).fields
    assert fields["minutes"] == "90"
    assert fields["area"] == "4. Home & Garden"
    assert fields["topic(s)"] == ["Glass", "Issue #12", "plain words"]
    assert "empty" not in fields


def test_boxes_are_yes_or_no() -> None:
    fields = parse_node(VISIT).fields
    assert (fields["packed"], fields["paid"], fields["done"]) == (False, True, True)
    assert "done" not in parse_node("- [ ] Visit the orangery").fields


def test_values_that_are_nodes_are_linked_by_their_field() -> None:
    assert parse_node(VISIT).links == [
        ("Area", "area"),
        ("Topic(s)", "glass"),
        ("Topic(s)", "putty"),
        ("Report", "said"),
    ]


def test_a_value_with_notes_below_it_is_a_note_and_what_is_below_is_not_the_nodes_own() -> None:
    parsed = parse_node(VISIT)
    assert parsed.owned == [("said", "What was said:")]
    assert "price" not in parsed.fields
    assert "phone" not in parsed.fields


def test_what_the_name_refers_to_is_told() -> None:
    assert parse_node("- Tea with [Ada Quill #person](tana:ada)\n  - **Day**: today").references == ("ada",)


@given(st.text(alphabet="-*[]#:() \n\tax<!>", max_size=80))
def test_any_text_can_be_read(text: str) -> None:
    parse_node(text)
