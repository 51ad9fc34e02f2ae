"""Settle what a request leaves open: the kind of page that suits a store, and the nodes that words name."""

from collections.abc import Mapping
from typing import Final

from weft.model import Filter, Node
from weft.ports import NOTE_FORM, TANA_FORM, Snapshot
from weft.text.terms import analyze

GENERAL: Final = "general"
NOTES: Final = "notes"

_OTHER_KINDS: Final = (
    *("file", "module", "class", "interface", "type", "function", "method", "config", "commit"),
    *("document", "section", "requirement", "feature", "decision", "message", "session"),
    *("chapter", "scene", "memory", "experience", "value"),
    *("faq", "playbook", "permission_rule", "concept", "schema_index", "schema_field", "example", "entity"),
)
"""The kinds of nodes that are no notes, whoever wrote them."""
_PLAIN_KINDS: Final = ("note",)
"""The kind of texts in Markdown, of which notes in a graph are some and pages of documentation others."""
_NOTES_FOR_ONE_OTHER: Final = 2
"""Notes for each other node that make a store a graph of notes: a vault holds a few scripts, a repository a few
notes."""
_FORMS: Final = (NOTE_FORM, TANA_FORM)


def choose_page(snapshot: Snapshot) -> str:
    """Return the profile for a request that names none: `notes` for a graph of notes, else `general`."""
    notes = sum(_count(snapshot, form=form) for form in _FORMS)
    if not notes:
        return GENERAL
    plain = _count(snapshot, _PLAIN_KINDS) - sum(_count(snapshot, _PLAIN_KINDS, form) for form in _FORMS)
    others = plain + _count(snapshot, _OTHER_KINDS)
    return NOTES if notes >= _NOTES_FOR_ONE_OTHER * others else GENERAL


def holds_tana(snapshot: Snapshot) -> bool:
    """Tell whether a view holds notes of Tana."""
    return _count(snapshot, form=TANA_FORM) > 0


def _count(snapshot: Snapshot, kinds: tuple[str, ...] = (), form: Mapping[str, str] | None = None) -> int:
    return len(snapshot.matching_ids(Filter(kinds=kinds, where=tuple((form or {}).items()))))


def find_named(name: str, snapshot: Snapshot) -> tuple[Node, ...]:
    """Return the nodes that a key, id, title, alias or the address of a note names."""
    # Half of a surrogate pair, which no valid text holds, names nothing.
    name = name.encode("utf-8", "replace").decode("utf-8")
    for form in (name, name.rpartition("nodeid=")[2]):
        ids = snapshot.find([form]).get(form, ()) if form else ()
        rows = snapshot.nodes(ids)
        if rows:
            return tuple(rows[number].node for number in ids if number in rows)
    return ()


def is_also_a_word(word: str, nodes: tuple[Node, ...], snapshot: Snapshot) -> bool:
    """Whether a bare id also stands in other nodes as a word, so that the caller may as well mean the word."""
    titles = {name.casefold() for node in nodes for name in (node.title, *(alias.text for alias in node.aliases))}
    # Ids such as `a1B2` or `fooBar` are not words that someone would search for.
    looks_like_a_word = word.isalpha() and (word.islower() or word.istitle() or word.isupper())
    if not looks_like_a_word or word.casefold() in titles:
        return False
    # Loaded here, because it loads numpy, and what prints help loads this module.
    from weft.scoring.bm25 import term_hashes

    hashes = term_hashes(analyze(word))
    own = len(snapshot.passages_of_nodes([node.id for node in nodes]))
    frequency = snapshot.statistics(hashes).frequency
    return any(frequency.get(term, 0) > own for term in hashes)


def ambiguity_note(word: str) -> str:
    """Return the note for a word that is an id and a word."""
    return f"{word!r} is the id of a node and also a word: the page starts from the node and holds both."
