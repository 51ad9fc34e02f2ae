"""Every store keeps texts of any script and any character, wherever they stand."""

import pytest

from weft.model import Alias, AliasSet, Edge, Filter, Passage, View
from weft.ports import Changes, PreparedPassage, Store
from weft.testing.store_worlds import id_of, neighbours, passage, prepared, write_edges, write_nodes

TEXTS = {
    "latin": "Straße, façade",
    "decomposed": "Cafe\u0301 au lait",
    "han": "漢字かな交じり文",
    "hangul": "한국어 문장",
    "arabic": "نص عربي 123",
    "hebrew with marks": "שָׁלוֹם",
    "thai": "ภาษาไทย",
    "devanagari": "हिन्दी वाक्य",
    "emoji with joiners": "👩‍👩‍👧‍👦 🏴󠁧󠁢󠁥󠁮󠁧󠁿",
    "beyond the basic plane": "𝔘𝔫𝔦 𐍈 𠜎",
    "right to left marks": "a\u202eb\u202cc\u200f",
    "nothing to see": "\u200b\u2060\ufeff",
    "zero bytes": "a\0b\0",
    "escapes of zero bytes": "\x1a0 \x1a1 \x1a",
    "control characters": "\x01\x07\x08\x1b[31m\x7f",
    "ends of lines": "a\rb\nc\r\nd\u2028e\u2029f\x0bg\x0ch",
    "quotes": "'; DROP TABLE nodes; -- \" ` $$",
    "backslashes": "\\N \\. \\x00 \\\\ \\t",
    "placeholders": "%s %(name)s {0} ? :1 $1",
    "braces": '{"a": [1, null]} {a,b} (c)',
    "patterns": "100% _under_ [a-z]* ^$",
    "a tab and ends": "\tspaces  \u00a0\u3000",
    "words of queries": "AND OR NOT NEAR * : & | ! <->",
    "not a character": "\ufffe\uffff\U0010ffff",
}


@pytest.fixture(params=TEXTS.values(), ids=TEXTS.keys())
def text(request: pytest.FixtureRequest) -> str:
    """One text after the other."""
    return str(request.param)


def test_a_node_is_kept_to_the_character(store: Store, text: str) -> None:
    write_nodes(
        store,
        prepared(f"s:{text}", kind=text, title=text, summary=text, text=text, language=text, tags=(text,),
                 fields={text: [text, {text: text}]}, aliases=(Alias(text, "given@1"),), source=text),
    )  # fmt: skip
    with store.snapshot(View()) as snapshot:
        (row,) = snapshot.nodes(snapshot.matching_ids(Filter()).tolist()).values()
    node = row.node
    assert (node.key, node.kind, node.title, node.summary, node.text) == (f"s:{text}", text, text, text, text)
    assert (node.language, node.tags, node.fields) == (text, (text,), {text: [text, {text: text}]})
    assert (node.aliases, node.origin.source) == ((Alias(text, "given@1"),), text)


def test_a_node_is_found_by_its_key_its_title_and_its_alias(store: Store, text: str) -> None:
    write_nodes(store, prepared(f"s:key {text}", title=f"title {text}"), prepared("s:other", title=text[:1]))
    given = {f"s:key {text}": (Alias(f"alias {text}", "m@1"),)}
    store.write(Changes(aliases=(AliasSet("m@1", "default", given),)))
    names = [f"s:key {text}", f"key {text}", f"title {text}", f"alias {text}"]
    with store.snapshot(View()) as snapshot:
        found = snapshot.find(names)
    assert found == {name: (id_of(store, f"s:key {text}"),) for name in names}


def test_filters_by_kind_tag_source_and_field_find_it_and_nothing_else(store: Store, text: str) -> None:
    own = {"kind": f"k{text}", "tags": (f"t{text}",), "source": f"s{text}", "fields": {"f": f"v{text}"}}
    write_nodes(store, prepared("s:a", **own), prepared("s:b", kind="k", tags=("t",), fields={"f": "v"}))
    filters = (
        Filter(kinds=(f"k{text}",)),
        Filter(tags=(f"t{text}",)),
        Filter(sources=(f"s{text}",)),
        Filter(where=(("f", f"v{text}"),)),
    )
    with store.snapshot(View()) as snapshot:
        assert [snapshot.matching_ids(each).tolist() for each in filters] == [[id_of(store, "s:a")]] * 4
    assert store.keys_with_tag("default", f"t{text}") == ("s:a",)


def test_an_edge_keeps_its_type_its_maker_and_its_evidence(store: Store, text: str) -> None:
    write_nodes(store, prepared("s:a"), prepared(f"s:b{text}"))
    edge = Edge("s:a", f"s:b{text}", f"type {text}", 0.5, 0.25, f"because {text}")
    write_edges(store, f"maker {text}@1", edge)
    assert neighbours(store, "s:a") == [(f"s:b{text}", f"type {text}", 1)]
    with store.snapshot(View()) as snapshot:
        ((_, _, stored),) = snapshot.edges([id_of(store, "s:a")])
    assert stored == edge
    assert store.edge_makers(f"maker {text}"[:7]) == ((f"maker {text}@1", "default"),)


def test_a_tenant_called_so_sees_its_own_and_nothing_else(store: Store, text: str) -> None:
    write_nodes(store, prepared("s:a", tenant=f"t{text}"), prepared("s:a", tenant="t"))
    store.share("t", [f"t{text}"])
    with store.snapshot(View((f"t{text}",))) as snapshot:
        (row,) = snapshot.nodes(snapshot.matching_ids(Filter()).tolist()).values()
        assert row.node.tenant == f"t{text}"
        assert snapshot.statistics([1]).passages == 1
    assert store.shared("t") == (f"t{text}",)
    assert store.linking_tenants(f"t{text}") == ("t",)


def test_a_unit_and_the_headings_of_a_passage_are_remembered(store: Store, text: str) -> None:
    plain = passage([1])
    place = Passage(0, 0, 10, 1, 2, (f"H {text}", text))
    headed = PreparedPassage(place, plain.term_hashes, plain.term_counts, plain.length)
    node, unit = prepared("s:a", headed, unit=f"default/u{text}"), ("default", f"n{text}", f"u{text}", f"v{text}")
    store.write(Changes(upserts=(node,), units=(unit,)))
    assert store.units("default", f"n{text}") == {f"u{text}": f"v{text}"}
    with store.snapshot(View()) as snapshot:
        (row,) = snapshot.passages_of_nodes([id_of(store, "s:a")])
    assert row.passage == place
