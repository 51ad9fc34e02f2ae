"""Every derived search gives exactly the answers of the slow way, for any tenants and any filter.

The worlds stand while the cases of an engine ask them: one that the index has caught up with, and one whose latest
writes it has not seen.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pytest

from backends import Backend
from weft.model import Filter, View
from weft.ports import Index, Store
from weft.testing.index_world import DIMENSIONS, agrees_with_truth, prepared, write

QUESTIONS = ("red fox", "owl w3 w4", "grey elk w17 unheard")
LIMITS = (1, 5, 1000)
STATES = ("caught up", "behind")
VIEWS = {
    "one tenant": View(("default",)),
    "another": View(("other",)),
    "both": View(("default", "other")),
    "one and nobody": View(("default", "nobody")),
    "as of 10": View(("default", "other"), as_of=10),
    "as of the beginning": View(("default",), as_of=0),
}
FILTERS = {
    "everything": Filter(),
    "a kind": Filter(kinds=("note",)),
    "one of two kinds": Filter(kinds=("task", "unheard", "memory")),
    "a tag": Filter(tags=("even",)),
    "two tags": Filter(tags=("even", "third")),
    "a source": Filter(sources=("elsewhere",)),
    "a field": Filter(where=(("state", "open"),)),
    "a long field": Filter(where=(("long", "v" * 90),)),
    "a time": Filter(since=datetime(2024, 1, 10, tzinfo=UTC), until=datetime(2024, 1, 25, tzinfo=UTC)),
    "the sequence": Filter(sequence_from=4, sequence_to=15),
    "kind, tag and sequence": Filter(kinds=("note", "task"), tags=("even",), sequence_to=20),
    "nothing": Filter(tags=("unheard",)),
}


class Standing(NamedTuple):
    """A store with its index, in one of the two states."""

    index: Index
    store: Store


def animal(number: int, again: str = "", **values: Any) -> Any:
    """One of a kind of animal in one of three colours, with something to filter by."""
    words = (("red", "grey", "white")[number % 3], ("fox", "owl", "elk", "hare")[number % 4], f"w{number}", again)
    fields = {"state": ("open", "done")[number % 2], "long": "v" * 90 if number % 5 == 0 else "v"}
    tags = (*(("even",) if number % 2 == 0 else ()), *(("third",) if number % 3 == 0 else ()))
    return prepared(
        f"n{number}", " ".join(words), f"den {words[1]}", embedded=number % 7 != 6,
        **{"kind": ("note", "task", "memory")[number % 3], "tags": tags, "fields": fields,
           "sequence": number if number % 4 else None, "known_from": 12 if number == 5 else None,
           "modified": datetime(2024, 1, 1 + number % 28, tzinfo=UTC),
           "tenant": ("default", "default", "other")[number % 3 if number > 8 else 0], **values},
    )  # fmt: skip


@pytest.fixture(scope="module")
def standing(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standing]:
    """The world of an engine in a state, made once for all cases."""
    name, state = request.param
    if name == "postgres-milvus":
        pytest.importorskip("milvus_lite")
    server = request.getfixturevalue("postgres_url") if name.startswith("postgres") else ""
    backend = Backend(name, tmp_path_factory.mktemp("standing"), server)
    place = f"standing_{name}_{state}".replace("-", "_").replace(" ", "_")
    store = backend.store(place)
    index = backend.index(store, place)
    store.remember_embedder("test", DIMENSIONS)
    write(store, *(animal(number) for number in range(36)))
    index.catch_up(store)
    changed = [animal(number, "red fox again") for number in range(0, 36, 6)]
    write(store, *changed, *(animal(number) for number in range(36, 44)), removes=[("default", "s:n3")])
    if state == "caught up":
        index.catch_up(store)
    yield Standing(index, store)
    index.close()
    store.close()
    if server:
        from postgres_server import drop_schema

        drop_schema(server, place)


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS.keys())
@pytest.mark.parametrize("filter", FILTERS.values(), ids=FILTERS.keys())
def test_answers_are_those_of_the_slow_way(standing: Standing, view: View, filter: Filter) -> None:
    for question, limit in zip(QUESTIONS, LIMITS, strict=True):
        assert agrees_with_truth(standing.index, standing.store, question, view=view, filter=filter, limit=limit)
