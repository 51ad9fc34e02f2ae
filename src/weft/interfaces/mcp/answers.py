"""Answer the reading tools: text for the model, and a few facts beside it."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from msgspec import Struct, field

from weft.errors import InvalidInput, UnknownName
from weft.interfaces.ask import ask, check_filter, profile_with_lens, usable_profiles
from weft.interfaces.describe import SEARCH_COLUMNS, ledger_lines, one_line, search_rows, table_lines
from weft.interfaces.mcp.open_store import Settings, Shelf
from weft.interfaces.request import make_filter, read_time
from weft.interfaces.whole_text import whole_text
from weft.model import UNSET, Context, LedgerEntry, Unset, View
from weft.profiles import apply_preset
from weft.profiles.types import AUTO, Profile

if TYPE_CHECKING:
    from weft.api import Weft
    from weft.ports import TokenCounter


NODE_ADDRESS: Final = "weft://node/"
FETCH_TOKENS: Final = 8_000
EXPLAINED: Final = 40
_CHARACTERS_A_TOKEN: Final = 16
"""More than text of any language needs: what lies beyond cannot be within the tokens asked for."""


class Answer(Struct, frozen=True):
    """Blocks of text, and small facts for programs."""

    texts: tuple[str, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)


Call = Callable[[Shelf, Mapping[str, Any]], Answer]


def context(shelf: Shelf, given: Mapping[str, Any]) -> Answer:
    """Return the page, byte for byte as the command line prints it."""
    found, notes = _ask(shelf, given)
    return Answer((found.text,), {**_facts(found), "notes": [*notes, *found.notes]})


def _ask(shelf: Shelf, given: Mapping[str, Any]) -> tuple[Context, list[str]]:
    """Return the page, and a note where its budget had to be cut to what a result may hold."""
    settings = shelf.settings
    values = {**given, "tenants": shelf.tenants, "now": read_time(given.get("now"))}
    values.setdefault("profile", settings.profile)
    weft = shelf.weft()
    notes = _budget_notes(weft, values, settings)
    if notes:
        values["max_tokens"] = settings.room
    return ask(weft, values), notes


def _budget_notes(weft: "Weft", values: Mapping[str, Any], settings: Settings) -> list[str]:
    """Explain why the budget is smaller than the one asked for, if it is."""
    wanted = values.get("max_tokens", UNSET)
    if isinstance(wanted, Unset):
        name = values["profile"] or profile_with_lens(weft, values.get("lens"))
        wanted = _usual(weft.profile(name), values.get("preset"))
    if wanted is not None and wanted <= settings.room:
        return []
    return [
        f"{'No limit' if wanted is None else f'{wanted:,} tokens'} asked for, {settings.room:,} given: results of "
        f"this server stay under {settings.most_tokens:,} tokens (`weft mcp --max-result-tokens`)."
    ]


def _usual(profile: Profile, preset: str | None) -> int | None:
    """The budget of a profile, with a preset that of the preset; the largest where the question chooses one."""
    if preset != AUTO or not profile.adapt:
        return (apply_preset(profile, preset) if preset else profile).max_tokens
    budgets = [apply_preset(profile, rule.preset).max_tokens for rule in profile.adapt]
    limits = [budget for budget in (profile.max_tokens, *budgets) if budget is not None]
    return max(limits) if len(limits) > len(budgets) else None


def _facts(found: Context) -> dict[str, Any]:
    return {
        "id": found.id,
        "tokens": found.tokens,
        "max_tokens": found.max_tokens,
        "profile": found.profile,
        "format": found.format,
        "sources": len(found.sources),
        "left_out": sum(entry.detail == "dropped" for entry in found.ledger),
    }


def search(shelf: Shelf, given: Mapping[str, Any]) -> Answer:
    """Return the nodes that match best, one on a line."""
    question = " ".join(given.get("query", ()))
    if not question:
        raise InvalidInput("The query is empty. Say what to look for, such as 'refund policy'.")
    weft, wanted, tenants = shelf.weft(), make_filter(given), shelf.tenants
    notes = check_filter(weft, wanted, tenants)
    found = weft.search(
        question,
        limit=given.get("limit", 10),
        match=given.get("match", "hybrid"),
        filter=wanted,
        tenants=tenants,
        as_of=given.get("as_of"),
        consistency=given.get("consistency", ""),
        floor=given.get("floor"),
    )
    rows = search_rows(found.candidates)
    lines = table_lines(SEARCH_COLUMNS, rows) if rows else ["Nothing matches."]
    text = cut("\n".join(lines), shelf.settings.room)
    return Answer((text,), {"results": len(rows), "notes": [*notes, *found.notes]})


def fetch(shelf: Shelf, given: Mapping[str, Any]) -> Answer:
    """Return nodes whole, a block of text each, page by page when they are long."""
    names = given.get("key", ())
    if not names:
        raise InvalidInput(
            "No key is given. Give the key, id or title of a node, as `search` and `context` print it."
        )
    weft, room = shelf.weft(), min(given.get("max_tokens") or FETCH_TOKENS, shelf.settings.room)
    view = View(shelf.tenants, given.get("as_of"))
    number, texts, missing = given.get("page", 1), [], []
    for name in names:
        nodes = weft.show(name, tenants=view.tenants, as_of=view.as_of)
        texts += [whole_text(weft, node, view) for node in nodes]
        missing += [] if nodes else [name]
    if not texts:
        raise InvalidInput(f"No node is named {', '.join(map(repr, missing))}. `search` finds what is close.")
    shown, more = page_of(texts, number, room)
    if not shown:
        raise InvalidInput(f"There is no page {number}. Pages are counted from 1.")
    notes = [f"No node is named {name!r}." for name in missing]
    following = [f"[… goes on: call fetch again with page {number + 1}]"] if more else []
    return Answer((*shown, *following), {"page": number, "more": more, "notes": notes})


def node_name(given: str) -> str:
    """Return the key in the address of a node's resource; any other name as it is."""
    return unquote(given.removeprefix(NODE_ADDRESS)) if given.startswith(NODE_ADDRESS) else given


def page_of(texts: Sequence[str], number: int, room: int) -> tuple[tuple[str, ...], bool]:
    """Return the blocks that stand on a page, and whether more follow."""
    pages: list[tuple[str, ...]] = []
    waiting = list(texts)
    while waiting and len(pages) < number:
        blocks, left = [], room
        while waiting and left > 0:
            block = _beginning(waiting[0], left)
            if not block:
                break
            blocks.append(block)
            left -= _count().count(block)
            rest = waiting[0][len(block) :].lstrip("\n")
            waiting = [rest, *waiting[1:]] if rest else waiting[1:]
            if rest:
                break
        pages.append(tuple(blocks))
    return (pages[number - 1], bool(waiting)) if len(pages) == number else ((), False)


def _beginning(text: str, room: int) -> str:
    """Return as much of a text as has room, ending with a whole line where it can."""
    read = text[: room * _CHARACTERS_A_TOKEN]
    shown = _count().cut(read, room)
    if len(shown) == len(text) or "\n" not in shown:
        return shown
    return shown[: shown.rindex("\n") + 1]


def cut(text: str, room: int) -> str:
    """Return the beginning of a text that has room, and how much is missing."""
    shown = _beginning(text, room)
    if len(shown) == len(text):
        return text
    shown = _beginning(text, room - 20)
    return f"{shown}[… {text.count(chr(10), len(shown)) + 1} more lines: ask for less]"


def _count() -> "TokenCounter":
    from weft.tokens import DEFAULT_ENCODING, counter_for

    return counter_for(DEFAULT_ENCODING)[0]


def explain(shelf: Shelf, given: Mapping[str, Any]) -> Answer:
    """Return the ledger of a context: every candidate, its level of detail and the reason."""
    known = given.get("context_id")
    if known is not None:
        record = shelf.weft().contexts.find(known)
        name, ledger, facts = record.id, record.ledger, {"id": record.id, "tokens": record.tokens}
    else:
        found, _ = _ask(shelf, given)
        name, ledger, facts = found.id, found.ledger, _facts(found)
    entries = _entries(ledger, given.get("key", ()))
    limit = given.get("limit", EXPLAINED)
    lines = [f"Context {name}: {len(ledger)} candidates.", *ledger_lines(entries[:limit])]
    if len(entries) > limit:
        lines.append(f"[… {len(entries) - limit} more: raise limit, or name one with key]")
    return Answer((cut("\n".join(lines), shelf.settings.room),), facts)


def _entries(ledger: tuple[LedgerEntry, ...], names: tuple[str, ...]) -> list[LedgerEntry]:
    """Return the entries of the named nodes, or all; a name that is missing was never a candidate."""
    if not names:
        return list(ledger)
    found = [entry for entry in ledger if any(name in (entry.key, entry.title, str(entry.id)) for name in names)]
    if not found:
        raise InvalidInput(
            f"{', '.join(map(repr, names))} was no candidate: neither the words, the meaning nor the links of the "
            "question led to it. `search` shows what does match."
        )
    return found


def lenses(shelf: Shelf, given: Mapping[str, Any]) -> Answer:
    """Return the profiles that `context` takes with their lenses, presets and parameters."""
    wanted = given.get("profile")
    profiles = usable_profiles(shelf.folders())
    if wanted is not None and wanted not in {profile.name for profile in profiles}:
        raise UnknownName("profile", wanted, [profile.name for profile in profiles])
    lines = []
    for profile in profiles:
        if wanted in (None, profile.name):
            lines.append(f"profile {profile.name}: {one_line(profile.description)}")
            lines += [f"  lens {lens.name}: {one_line(lens.description)}" for lens in profile.lenses]
            lines += [f"  {what}: {', '.join(names)}" for what, names in _choices(profile).items() if names]
    return Answer((cut("\n".join(lines), shelf.settings.room),), {"profiles": len(profiles)})


def _choices(profile: Profile) -> dict[str, list[str]]:
    """Return the presets and parameters that a profile takes."""
    chosen = [f"{AUTO} (by the question)"] if profile.adapt else []
    return {
        "presets": [*sorted(profile.presets), *chosen],
        "parameters": [each.name for each in profile.parameters],
    }


def index(shelf: Shelf, given: Mapping[str, Any]) -> Answer:
    """Read files and folders into the store."""
    paths = given.get("path", ())
    if not paths:
        raise InvalidInput("No path is given. Give the path of a file or folder to read.")
    tenants = shelf.tenants
    if len(tenants) != 1:
        raise InvalidInput(f"This server reads {', '.join(tenants)}; start one with a single --tenant to write.")
    report = shelf.weft().index(*paths, source=given.get("source"), tenant=tenants[0])
    problems = [f"{one_line(each.where)}: {one_line(each.reason)}" for each in report.problems]
    text = f"{report.written} nodes written, {report.removed} removed, {report.unchanged} unchanged."
    return Answer((cut("\n".join([text, *problems]), shelf.settings.room),), {"problems": len(problems)})
