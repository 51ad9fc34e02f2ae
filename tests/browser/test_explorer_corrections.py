"""Corrections in a real browser: each is previewed by the page, applied, and undone."""

import pytest

pytest.importorskip("selenium")

from chromium import Explorer
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

LUNCH = "When is lunch served?"


def open_item(explorer: Explorer, title: str) -> None:
    """Choose a candidate by its title, and open the dialog that corrects it, with keys."""
    explorer.wait_for("#ledger", title)
    script = (
        "[...document.querySelectorAll('.entry')].find(each => each.textContent.includes(arguments[0])).click();"
        "document.querySelector('#ledger').focus()"
    )
    explorer.browser.execute_script(script, title)
    explorer.press("e")
    explorer.wait("return document.querySelector('#correct').open")


def choose_action(explorer: Explorer, words: str) -> None:
    Select(explorer.find("#correct-action")).select_by_visible_text(words)


def fill(explorer: Explorer, name: str, text: str) -> None:
    explorer.find(f"#correct [name={name}]").send_keys(Keys.CONTROL + "a" + Keys.NULL, text)


def preview(explorer: Explorer, words: str) -> None:
    """See how the page would change; the page itself stays as it is."""
    before = explorer.text("#page")
    explorer.find("#preview").click()
    explorer.wait_for("#correct-preview", "Nothing is changed yet")
    assert words in explorer.text("#correct-preview")
    assert explorer.text("#page") == before


def apply(explorer: Explorer) -> None:
    explorer.find("#apply").click()
    explorer.wait("return !document.querySelector('#correct').open")


def undo_at_once(explorer: Explorer, before: str) -> None:
    """Take the last correction back by the bar at the bottom: the page is as it was, and nothing is listed."""
    explorer.choose("#undo button", "Undo")
    explorer.wait("return document.querySelector('#page').textContent === arguments[0]", before)
    explorer.open(view="corrections")
    assert "Nothing was corrected yet" in explorer.text("#drawn")


def test_a_text_is_edited(writing_explorer: Explorer) -> None:
    explorer = writing_explorer.open(("topic", LUNCH))
    before = explorer.text("#page")
    open_item(explorer, "Old lunch rules")
    choose_action(explorer, "Edit")
    fill(explorer, "text", "Lunch was once served at eleven in the blue hall.")
    preview(explorer, "its content changed")
    apply(explorer)
    explorer.wait_for("#page", "blue hall")
    assert "green hall" not in explorer.text("#page")
    undo_at_once(explorer, before)


def test_an_item_is_tagged_and_the_tag_is_seen_where_it_is_opened(writing_explorer: Explorer) -> None:
    explorer = writing_explorer.open(("topic", LUNCH))
    before = explorer.text("#page")
    open_item(explorer, "Old lunch rules")
    choose_action(explorer, "Tags")
    fill(explorer, "tags", "history, #hall")
    preview(explorer, "tokens before")
    apply(explorer)
    explorer.wait_for("#undo", "Corrected")
    explorer.press(Keys.ENTER)
    explorer.wait_for("#source-facts", "tags: history, hall")
    explorer.press(Keys.ESCAPE)
    explorer.open(view="corrections")
    assert "Changed tags of “Old lunch rules”" in explorer.text("#drawn")
    explorer.choose("#drawn button", "Undo")
    explorer.wait_for("#drawn", "Nothing was corrected yet")
    explorer.open(("topic", LUNCH))
    assert explorer.text("#page") == before


def test_a_memory_is_superseded_and_its_old_text_stays_in_its_history(writing_explorer: Explorer) -> None:
    explorer = writing_explorer.open(("topic", "When does the cook want lunch orders?"))
    explorer.wait_for("#page", "before ten")
    before = explorer.text("#page")
    open_item(explorer, "memory")
    choose_action(explorer, "Supersede")
    fill(explorer, "text", "The cook wants lunch orders before nine.")
    preview(explorer, "its content changed")
    apply(explorer)
    explorer.wait_for("#page", "before nine")
    address = explorer.browser.current_url
    explorer.open(view="memory")
    assert "said before: The cook wants lunch orders before ten." in explorer.text(".learned")
    assert "updated" in explorer.text(".learned .badge")
    explorer.open(view="corrections")
    explorer.choose("#drawn button", "Undo")
    explorer.wait_for("#drawn", "Nothing was corrected yet")
    explorer.browser.get(address)
    explorer.wait("return document.querySelector('#page').textContent === arguments[0]", before)


def test_two_names_of_a_story_become_one_and_two_again(book_explorer: Explorer) -> None:
    explorer = book_explorer.open(("topic", "Captain Rourke"))
    before = explorer.text("#page")
    open_item(explorer, "character")
    choose_action(explorer, "Merge")
    merged = explorer.text("#correct-title").removeprefix("Correct: ")
    other = next(name for name in ("Margaret Vane", "Lavinia Ashe") if name != merged)
    fill(explorer, "names", other)
    preview(explorer, "The page would change")
    apply(explorer)
    explorer.wait_for("#page", "Captain Rourke")
    explorer.open(view="corrections")
    assert f"merge: {merged}, {other}" in explorer.text("#drawn")
    explorer.choose("#drawn button", "Undo")
    explorer.wait_for("#drawn", "Nothing was corrected yet")
    explorer.open(("topic", "Captain Rourke"))
    assert explorer.text("#page") == before


def test_a_source_is_hidden_in_a_profile_of_ones_own_and_shown_again(writing_explorer: Explorer) -> None:
    explorer = writing_explorer.open(("topic", LUNCH), ("floor", "0"))
    before = explorer.text("#page")
    assert "roof" in before
    open_item(explorer, "Lunch rumour")
    choose_action(explorer, "Hide its source")
    fill(explorer, "profile", "without-attic")
    preview(explorer, "vanished")
    assert 'hidden_sources = ["attic"]' in explorer.text("#correct-preview")
    apply(explorer)
    explorer.wait("return location.search.includes('profile=without-attic')")
    explorer.wait("return !document.querySelector('#page').textContent.includes('roof')")
    explorer.press("n")
    explorer.press("Lunch rumour", Keys.ENTER)
    explorer.wait_for("#why-answer", "hidden by the profile 'without-attic'")
    undo_at_once(explorer, before)


def test_a_correction_that_cannot_be_made_says_why_and_changes_nothing(writing_explorer: Explorer) -> None:
    explorer = writing_explorer.open(("topic", LUNCH))
    before = explorer.text("#page")
    open_item(explorer, "Old lunch rules")
    choose_action(explorer, "Edit")
    explorer.find("#apply").click()
    explorer.wait_for("#correct-preview", "Give another title, summary, text or tags")
    explorer.press(Keys.ESCAPE)
    assert explorer.text("#page") == before
