"""Read what people wrote to each other: mailboxes (mbox) and the day files of a Slack export."""

import html
import mailbox
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from email.header import decode_header, make_header
from email.message import Message
from email.utils import parseaddr, parsedate_to_datetime
from pathlib import Path
from typing import Any, Final

import orjson

from weft.sources.chat.logs import USER, Session, Turn
from weft.sources.files import clean
from weft.sources.values import to_time_or_none

_SLACK_MARK: Final = re.compile(
    rb'"type"\s*:\s*"message"[^{}]{0,2000}?"ts"\s*:\s*"\d{9,11}\.\d+"'
    rb'|"ts"\s*:\s*"\d{9,11}\.\d+"[^{}]{0,2000}?"type"\s*:\s*"message"'
)
_SLACK_LIST: Final = re.compile(rb'"(?:is_primary_owner|is_general|is_archived)"\s*:')
_SLACK_USER: Final = re.compile(r"<@([UW][A-Z0-9]+)(?:\|([^>]+))?>")
_SLACK_CHANNEL: Final = re.compile(r"<#[A-Z0-9]+\|([^>]+)>")
_SLACK_LINK: Final = re.compile(r"<((?:https?|mailto):[^|>]+)(?:\|([^>]+))?>")
_REPLY_PREFIX: Final = re.compile(r"\A(?:\s*(?:re|aw|fwd?|wg|sv|antw)\s*(?:\[\d+\])?:)+\s*", re.IGNORECASE)
_QUOTED_BELOW: Final = re.compile(
    r"^(?:On [^\n]{5,200}\n?[^\n]{0,100}wrote:|-{2,} ?(?:Original Message|Forwarded message)[^\n]*|_{20,})\s*$",
    re.MULTILINE,
)
_SIGNATURE: Final = re.compile(r"^-- ?$", re.MULTILINE)
_TAG: Final = re.compile(r"(?s)<(style|script|head)\b.*?</\1>|<br ?/?>|</(?:p|div|tr|li)>|<[^>]{1,2000}>")


# --- Slack ---------------------------------------------------------------------------------------------------


def looks_like_slack(beginning: bytes) -> bool:
    """Return whether a JSON file begins like a day of a Slack channel, or like the lists beside the channels."""
    return any(mark.search(beginning) for mark in (_SLACK_MARK, _SLACK_LIST))


def read_slack_day(messages: Sequence[object], file: Path) -> Session:
    """Return a day of a channel, which is named after the folder of the file; joining and leaving are left out."""
    session = Session(title=f"#{file.parent.name}")
    names = _read_slack_names(file.parent.parent / "users.json")
    for message in messages:
        if not isinstance(message, Mapping) or message.get("type") != "message" or message.get("subtype"):
            continue
        text = message.get("text")
        if isinstance(text, str):
            author = _slack_author(message, names)
            session.add(USER, _plain_slack(text, names), to_time_or_none(message.get("ts")), author)
    return session


def _slack_author(message: Mapping[str, Any], names: Mapping[str, str]) -> str:
    user, profile = str(message.get("user") or ""), message.get("user_profile")
    own = (profile.get("real_name") or profile.get("name")) if isinstance(profile, Mapping) else None
    return str(names.get(user) or own or message.get("username") or user or "unknown")


def _read_slack_names(file: Path) -> dict[str, str]:
    """Return the names of the members by id; none where the list is missing or cannot be read."""
    try:
        members = orjson.loads(file.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return {}
    found = {}
    for member in members if isinstance(members, list) else ():
        if isinstance(member, Mapping) and isinstance(member.get("id"), str):
            profile = member.get("profile")
            shown = profile.get("display_name") if isinstance(profile, Mapping) else None
            found[member["id"]] = str(member.get("real_name") or shown or member.get("name") or member["id"])
    return found


def _plain_slack(text: str, names: Mapping[str, str]) -> str:
    """Return a message without Slack's own marks for members, channels and links."""
    text = _SLACK_USER.sub(lambda match: f"@{names.get(match[1]) or match[2] or match[1]}", text)
    text = _SLACK_CHANNEL.sub(r"#\1", text)
    return html.unescape(_SLACK_LINK.sub(lambda match: f"{match[2]} ({match[1]})" if match[2] else match[1], text))


# --- mail ----------------------------------------------------------------------------------------------------


def read_mailbox(file: Path) -> list[Session]:
    """Return the threads of a mailbox, each a session; replies are found by their references or their subject."""
    threads: dict[str, Session] = {}
    root_of: dict[str, str] = {}
    dated: dict[str, list[tuple[float, int, Turn]]] = {}
    for number, message in enumerate(mailbox.mbox(file, create=False)):
        subject = _REPLY_PREFIX.sub("", _header(message, "Subject")) or "(no subject)"
        own = _header(message, "Message-ID") or f"<{number}>"
        before = re.findall(r"<[^<>\s]+>", f"{_header(message, 'References')} {_header(message, 'In-Reply-To')}")
        root = next((root_of[each] for each in before if each in root_of), None) or root_of.get(subject)
        is_reply = bool(before) or _header(message, "Subject") != subject
        root = root if root is not None and is_reply else own
        root_of |= {own: root, **({} if subject in root_of and is_reply else {subject: root})}
        text = _body_text(message)
        if not text:
            continue
        threads.setdefault(root, Session(root.strip("<>"), subject))
        name, address = parseaddr(_header(message, "From"))
        time = _mail_time(message)
        dated.setdefault(root, []).append(
            (time.timestamp() if time else 0.0, number, Turn(USER, text, time, name or address or "unknown"))
        )
    for root, turns in dated.items():
        # Mailboxes are in the order of arrival or of filing; a thread is read in the order of writing.
        threads[root].turns = [turn for _, _, turn in sorted(turns, key=lambda each: each[:2])]
    return list(threads.values())


def _header(message: Message, name: str) -> str:
    """Return a header as text on one line; one that cannot be decoded as it stands."""
    value = message.get(name)
    if value is None:
        return ""
    try:
        value = str(make_header(decode_header(str(value))))
    except (LookupError, UnicodeError, ValueError):
        value = str(value)
    return " ".join(clean(value).split())


def _mail_time(message: Message) -> datetime | None:
    try:
        return to_time_or_none(parsedate_to_datetime(_header(message, "Date")))
    except (TypeError, ValueError, IndexError):
        return None


def _body_text(message: Message) -> str:
    """Return what the sender wrote: the plain text, else the HTML as text, without quotations and signature."""
    parts = [part for part in message.walk() if not part.is_multipart() and not part.get_filename()]
    for kind in ("text/plain", "text/html"):
        texts = [_decode(part) for part in parts if part.get_content_type() == kind]
        if any(text.strip() for text in texts):
            text = "\n\n".join(texts)
            return _own_words(_strip_tags(text) if kind == "text/html" else text)
    return ""


def _decode(part: Message) -> str:
    payload = part.get_payload(decode=True)
    if not isinstance(payload, bytes):
        return ""
    try:
        return payload.decode(part.get_content_charset() or "utf-8", "replace")
    except LookupError:
        return payload.decode("utf-8", "replace")


def _strip_tags(text: str) -> str:
    broken = _TAG.sub(lambda match: "\n" if match[0][:2] in ("<b", "</") else " ", text)
    return html.unescape(re.sub(r"[ \t]+", " ", broken))


def _own_words(text: str) -> str:
    text = clean(text.replace("\r\n", "\n"))
    below = _QUOTED_BELOW.search(text) or _SIGNATURE.search(text)
    kept = text[: below.start()] if below and text[: below.start()].strip() else text
    return "\n".join(line for line in kept.split("\n") if not line.startswith(">")).strip()
