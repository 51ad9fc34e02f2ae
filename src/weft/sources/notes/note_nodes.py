"""Make the node of one note: its title, names, tags, dates and fields from front matter, text and file name."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import unquote

from msgspec import Struct

from weft.model import Alias, Json, Node, Origin
from weft.ports import LOOKUP_ONLY
from weft.sources.files import File, SourceSettings
from weft.sources.notes.front_matter import FrontMatterReader
from weft.sources.notes.references import find_tags, find_wikilinks, first_heading, name_links
from weft.sources.notes.story_vault import Vault
from weft.sources.values import split_names, split_words, to_integer, to_number, to_text, to_time

_NO_TEXTS: Final[tuple[str, ...]] = ()
_PAGE_PROPERTIES: Final = frozenset(
    {"title", "alias", "aliases", "tags", "tag", "type", "kind", "date", "created", "modified", "updated"}
    | {"summary", "description"}
)
"""Inline fields that say of a note what front matter may say."""
_GENERIC_STEMS: Final = frozenset({"index", "readme", "_index", "untitled"})
"""File names that name no note."""

_DAILY_NAME: Final = re.compile(r"(\d{4})([-_.]?)(\d{2})\2(\d{2})(?!\d)")
_MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_DAILY_WORDS: Final = re.compile(
    r"(?:\w+day,?\s+)?(?:(?P<month>[A-Za-z]{3,9})\s+(?P<day>\d{1,2})(?:st|nd|rd|th)?"
    r"|(?P<day2>\d{1,2})(?:st|nd|rd|th)?\s+(?P<month2>[A-Za-z]{3,9})),?\s+(?P<year>\d{4})"
)


class Body(Struct, frozen=True):
    """The text of a note below its front matter, and the line on which it begins."""

    text: str
    first_line: int

    @property
    def last_line(self) -> int:
        """The last line that is not blank."""
        return self.first_line + self.text.rstrip("\n").count("\n")


def add_page_properties(values: dict[str, Json], inline: dict[str, tuple[str, ...]]) -> None:
    """Move the inline fields that say what front matter may say to its values; front matter comes first."""
    for key in sorted(_PAGE_PROPERTIES & inline.keys()):
        given = inline.pop(key)
        if key in ("tags", "tag"):
            links = [link.target for value in given for link in find_wikilinks(value)]
            words = [word for value in given for word in _read_tags(re.sub(r"#?\[\[[^\]]*\]\]", " ", value))]
            values.setdefault(key, [*links, *words])
        else:
            parts = [
                part for value in given for part in (value.split(",") if key.startswith("alias") else (value,))
            ]
            listed: list[Json] = [name_links(part).strip() for part in parts]
            values.setdefault(key, listed if key.startswith("alias") else listed[0])


def note_node(
    front_matter: FrontMatterReader, settings: SourceSettings, file: File, body: Body, vault: Vault
) -> Node:
    """Return the node of a note; what its front matter says comes first, and the rest of it becomes fields."""
    take = front_matter.take
    stem = _page_name(file.name)
    title = take(("title",), to_text, "") or first_heading(body.text) or stem
    tags = take(("tags", "tag"), _read_tags, _NO_TEXTS)
    aliases = take(("aliases", "alias"), split_names, _NO_TEXTS)
    date = front_matter.values.get("date")
    created = take(("created", "date"), to_time, None) or daily_date(file.name)
    if date is not None:
        # The day of a meeting is what people look for, so that it is printed too.
        front_matter.values["date"] = date
    modified = take(("modified", "updated"), to_time, None) or settings.modified_time(file.path)
    return Node(
        key=f"{settings.source}:{file.name}",
        kind=take(("kind", "type"), to_text, vault.kind(file.name)).lower(),
        tenant=settings.tenant,
        title=title,
        summary=take(("summary", "description"), to_text, ""),
        text=body.text,
        language="markdown",
        tags=tuple(dict.fromkeys((*tags, *find_tags(body.text)))),
        aliases=tuple(Alias(alias, settings.maker) for alias in aliases if alias != title),
        origin=Origin(settings.source, file.name, body.first_line, body.last_line),
        sequence=take(("sequence", "chapter"), to_integer, vault.sequence(file.name)),
        known_from=take(("known_from",), to_integer, None),
        created=created,
        modified=modified,
        importance=take(("importance",), lambda value: to_number(value, 0.0, 1.0), 0.0),
        fields=front_matter.values,
    )


def file_aliases(node: Node, name: str, settings: SourceSettings) -> tuple[Alias, ...]:
    """Return the names that a note in a graph has by its file: links use them, whatever its title is."""
    stem = _page_name(name)
    known = {node.title.casefold(), *(alias.text.casefold() for alias in node.aliases), *_GENERIC_STEMS}
    names = [stem] if stem.casefold() not in known else []
    day = daily_date(name)
    if day is not None and f"{day:%Y-%m-%d}" not in {*known, *names}:
        names.append(f"{day:%Y-%m-%d}")
    return tuple(Alias(each, settings.maker, LOOKUP_ONLY) for each in names)


def daily_names(name: str) -> tuple[str, ...]:
    """Return the names by which links mean the note of a day: `2026-04-02`, and `Apr 2nd, 2026` in Logseq."""
    day = daily_date(name)
    if day is None:
        return ()
    ending = "th" if 10 < day.day < 14 else {1: "st", 2: "nd", 3: "rd"}.get(day.day % 10, "th")
    return f"{day:%Y-%m-%d}", f"{_MONTHS[day.month - 1][:3].capitalize()} {day.day}{ending}, {day.year}"


def daily_date(name: str) -> datetime | None:
    """Return the day that a daily note is named after, as in `2026-04-02.md` or Logseq's `2026_04_02.md`."""
    stem = PurePosixPath(name).stem
    match = _DAILY_NAME.match(stem)
    words = None if match else _DAILY_WORDS.fullmatch(stem)
    try:
        if match:
            return datetime(int(match[1]), int(match[3]), int(match[4]), tzinfo=UTC)
        if words:
            month = _month_number((words["month"] or words["month2"]).lower())
            return datetime(int(words["year"]), month, int(words["day"] or words["day2"]), tzinfo=UTC)
    except ValueError:
        return None
    return None


def _month_number(word: str) -> int:
    """Return the number of a month by its English name or its first three letters; 0 for any other word."""
    matches = (number for number, month in enumerate(_MONTHS, start=1) if word in (month, month[:3]))
    return next(matches, 0)


def remaining_fields(rest: Mapping[str, Json], importance: float) -> dict[str, Json]:
    """Return the values that are fields, with the names of notes in place of links to them."""
    fields: dict[str, Json] = {
        name: _name_links(value) for name, value in rest.items() if value is not None and value != ""
    }
    if importance:
        # Kept as a field too, so that a computed importance never replaces a given one.
        fields["importance"] = importance
    return fields


def links_in(value: Json) -> Iterator[str]:
    """Iterate over the texts with wikilinks in a value of front matter, at any depth."""
    if isinstance(value, str):
        if "[[" in value:
            yield value
    elif _is_bare_link(value):
        yield f"[[{value[0][0]}]]"  # type: ignore[index]
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from links_in(part)
    elif isinstance(value, Sequence):
        for part in value:
            yield from links_in(part)


def _is_bare_link(value: Json) -> bool:
    """Return whether a value is `[[Name]]` without quotes, which YAML reads as a list in a list."""
    is_nested = isinstance(value, list) and len(value) == 1 and isinstance(value[0], list) and len(value[0]) == 1
    return is_nested and isinstance(value[0][0], str)  # type: ignore[index]


def _name_links(value: Json) -> Json:
    if isinstance(value, str):
        return name_links(value) if "[[" in value else value
    if _is_bare_link(value):
        return str(value[0][0])  # type: ignore[index]
    if isinstance(value, Mapping):
        return {key: _name_links(part) for key, part in value.items()}
    return [_name_links(part) for part in value] if isinstance(value, list) else value


def _page_name(name: str) -> str:
    """Return the name of a note by its file; Logseq writes the slash of `plans/garden` as `___` or `%2F`."""
    stem = PurePosixPath(name).stem
    return unquote(stem.replace("___", "/")) if "___" in stem or "%2F" in stem else stem


def _read_tags(value: object) -> tuple[str, ...]:
    """Return the tags of front matter, which are separated by blanks or commas and may begin with `#`."""
    words = split_words(value.replace(" ", ",")) if isinstance(value, str) else split_words(value)
    return tuple(dict.fromkeys(stripped for word in words if (stripped := word.lstrip("#").strip())))
