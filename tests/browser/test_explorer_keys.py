"""The keys of the explorer: those that `?` lists are those that work, and two of them explain a line."""

import string
from typing import Any

import pytest

pytest.importorskip("selenium")

from chromium import Explorer
from selenium.webdriver import ActionChains
from selenium.webdriver.common.keys import Keys

QUESTION = "How are large refunds approved?"
SUPPORT = [("tenants", "support"), ("tenants", "finance")]
LINE = [("topic", QUESTION), ("max_tokens", 700), *SUPPORT, ("line", 6)]
FOCUSED = "return document.activeElement.id === '{}'"
OPENED = "return document.querySelector('{}').open"
SELECTED = "return document.querySelector('.line.lit')?.id === 'line-{}'"

EFFECTS: dict[str, str] = {
    "/": FOCUSED.format("question"),
    "p": FOCUSED.format("page"),
    "l": FOCUSED.format("ledger"),
    "n": FOCUSED.format("why-name"),
    "b": FOCUSED.format("budget-slider"),
    "j": SELECTED.format(7),
    "↓": SELECTED.format(7),
    "k": SELECTED.format(4),
    "↑": SELECTED.format(4),
    "[": "return Number(new URLSearchParams(location.search).get('max_tokens')) < 700",
    "]": "return Number(new URLSearchParams(location.search).get('max_tokens')) > 700",
    "Enter": OPENED.format("#source"),
    "w": "return document.querySelector('#why-answer').textContent.includes('It is on the page as')",
    "s": "return new URLSearchParams(location.search).getAll('topic')[0] !== 'How are large refunds approved?'",
    "g": "return document.querySelectorAll('#around .mark').length > 1",
    "y": "return document.querySelector('.line.needed') !== null",
    "u": "return document.querySelector('.line.noise') !== null",
    "e": "return document.querySelector('#status').textContent.includes('weft explore --write')",
    "x": "return document.body?.dataset.view === 'compare' && document.body.dataset.ready === 'yes'",
    "r": "return document.querySelector('#page').classList.contains('raw')",
    "c": "return document.querySelector('#status').textContent.startsWith('Copied')",
    "d": "return document.querySelector('#status').textContent.startsWith('Downloaded weft-')",
    "1": "return document.body?.dataset.view === 'ask' && document.body.dataset.ready === 'yes'",
    "9": "return document.body?.dataset.view === 'corrections' && document.body.dataset.ready === 'yes'",
    "t": "return document.documentElement.dataset.theme !== undefined",
    "?": OPENED.format("#keys"),
    "Esc": FOCUSED.format("page"),
    "Shift": "return document.querySelectorAll('.chip').length === 1",
}
"""The effect of each listed key on a page on which line 6 is chosen."""
TYPED = {"Enter": Keys.ENTER, "↓": Keys.ARROW_DOWN, "↑": Keys.ARROW_UP}
STATE = """
return [location.href, document.activeElement.id, document.documentElement.dataset.theme ?? '',
  [...document.querySelectorAll('dialog[open]')].map(each => each.id), document.querySelector('#page').className,
  document.querySelector('.line.lit')?.id ?? '', document.querySelectorAll('.needed, .noise').length,
  document.querySelector('#why-answer').hidden, document.querySelector('#status').textContent]
"""


def open_line(explorer: Explorer) -> Explorer:
    """The page with its sixth line chosen, and the keyboard on the page."""
    explorer.browser.execute_script("localStorage.clear()")
    explorer.open(*LINE)
    explorer.browser.execute_cdp_cmd(
        "Browser.grantPermissions", {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}
    )
    explorer.browser.execute_script("document.querySelector('#page').focus()")
    return explorer


def listed_keys(explorer: Explorer) -> set[str]:
    script = "return [...document.querySelectorAll('#keys kbd')].map(each => each.textContent)"
    return set(explorer.browser.execute_script(script))


def test_every_key_of_the_list_works(explorer: Explorer) -> None:
    assert listed_keys(open_line(explorer)) == {*EFFECTS}
    for key, effect in EFFECTS.items():
        open_line(explorer)
        assert key in ("p", "Esc", "1") or not explorer.browser.execute_script(effect), key
        if key == "Esc":
            explorer.press("/", Keys.ESCAPE)
        elif key == "Shift":
            explorer.press("/")
            ActionChains(explorer.browser).key_down(Keys.SHIFT).send_keys(Keys.ENTER).key_up(Keys.SHIFT).perform()
        else:
            explorer.press(TYPED.get(key, key))
        explorer.wait(effect)
    explorer.browser.execute_script("localStorage.clear()")


def test_no_other_key_does_anything(explorer: Explorer) -> None:
    open_line(explorer)
    # Digits between the first and the last view are listed as a range.
    listed = {*listed_keys(explorer), *"12345678"}
    silent = [key for key in string.printable.strip() if key not in listed]
    assert {"a", "z", "0", "E"} <= {*silent}
    before: Any = explorer.browser.execute_script(STATE)
    explorer.press(*silent)
    assert explorer.browser.execute_script(STATE) == before


def test_the_keys_of_the_other_views_are_listed_and_work(explorer: Explorer) -> None:
    explorer.open(view="memory")
    assert listed_keys(explorer) == {"Tab", "/", "1", "9", "t", "?", "Esc"}
    explorer.press("/")
    explorer.wait("return document.activeElement.matches('#choices input[type=search]')")
    explorer.press(Keys.ESCAPE)
    explorer.wait(FOCUSED.format("view"))
    explorer.press("?")
    explorer.wait(OPENED.format("#keys"))
    explorer.press(Keys.ESCAPE)
    explorer.press("5")
    explorer.wait("return document.body?.dataset.view === 'timeline' && document.body.dataset.ready === 'yes'")
    explorer.press(Keys.TAB)
    explorer.wait("return document.activeElement.className === 'skip'")


def test_every_line_is_explained_in_two_keys(explorer: Explorer) -> None:
    """One key goes to the line, whose item is explained beside it at once; a second says what would change it."""
    explorer.open(("topic", QUESTION), ("max_tokens", 400), *SUPPORT)
    lines = (
        "return [...document.querySelectorAll('.line:not(.blank)')].map(each => [each.id, each.matches('.known')])"
    )
    walked = explorer.browser.execute_script(lines)
    assert len(walked) > 8
    explorer.press(Keys.ESCAPE, "p")
    for name, is_known in walked:
        explorer.press("j")
        explorer.wait("return document.querySelector('.line.lit').id === arguments[0]", name)
        card = explorer.text("#card")
        if not is_known:
            assert "Weft wrote this line itself" in card, name
            continue
        assert "Printed as" in card, name
        assert "found by" in card or "step" in card, name
        title = explorer.text("#card h3")
        assert title == explorer.text(".entry.lit .name > span")
    explorer.press("w")
    explorer.wait_for("#why-answer", "It appears from about")
    assert explorer.text("#why-answer strong") == title
