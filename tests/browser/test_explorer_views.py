"""The views of the explorer that look over the store, in a real browser."""

import shutil
from pathlib import Path

import pytest

pytest.importorskip("selenium")

from chromium import Explorer, set_screen
from selenium.webdriver.common.keys import Keys

WAYS = ("compare", "judge", "store", "timeline", "cast", "memory", "sessions", "corrections")


def test_the_store_is_shown_by_source_kind_tenant_and_age(explorer: Explorer) -> None:
    explorer.open(view="store")
    text = explorer.text("#drawn")
    for words in ("Sources", "novel", "vault", "Kinds", "chapter", "Ages", "Growth", "nodes"):
        assert words in text
    assert "Index a folder" not in text


def test_digits_lead_from_view_to_view_and_back_to_the_question(explorer: Explorer) -> None:
    explorer.open(("topic", "refunds"), ("tenants", "support"))
    explorer.find("body").click()
    explorer.press("p", "4")
    explorer.wait("return document.body?.dataset.view === 'store' && document.body.dataset.ready === 'yes'")
    explorer.press("1")
    explorer.wait("return document.body?.dataset.view === 'ask' && document.body.dataset.ready === 'yes'")
    assert explorer.query["topic"] == ["refunds"]


def test_the_timeline_changes_its_track_and_opens_an_event(explorer: Explorer) -> None:
    explorer.open(view="timeline")
    assert "The Wrong Water" in explorer.text(".events")
    explorer.choose("#choices button", "Commits")
    explorer.wait("return document.querySelector('.events.commits') !== null")
    assert explorer.query["track"] == ["commits"]
    explorer.find(".event button").click()
    explorer.wait("return document.querySelector('#source').open")
    assert explorer.text("#source-text").strip()


def test_the_cast_is_drawn_the_same_every_time_and_a_mark_leads_on(explorer: Explorer) -> None:
    explorer.open(view="cast")
    drawn = explorer.browser.execute_script("return document.querySelector('.rings').outerHTML")
    explorer.open(view="cast")
    assert explorer.browser.execute_script("return document.querySelector('.rings').outerHTML") == drawn
    first = explorer.text(".person h2")
    explorer.browser.execute_script(
        "document.querySelectorAll('.mark')[1].dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    )
    explorer.wait("return document.querySelector('.person h2').textContent !== arguments[0]", first)
    assert "who" in explorer.query


def test_memories_filter_and_experiences_stand_beside_them(explorer: Explorer) -> None:
    explorer.open(view="memory")
    explorer.press("/")
    explorer.press("laptop")
    shown = "return [...document.querySelectorAll('.learned li')].filter(each => !each.hidden).length"
    explorer.wait(f"{shown} === 1")
    explorer.open(("of", "experiences"), view="memory")
    assert "confirmed" in explorer.text(".learned")


def test_sessions_tell_what_was_given_prompt_by_prompt(writing_explorer: Explorer) -> None:
    writing_explorer.open(view="sessions")
    text = writing_explorer.text("#drawn")
    assert "agent" in text
    assert text.index("When is lunch served?") < text.index("What is for lunch on Fridays?")
    assert "Lunch times" in text
    assert "fits whole" in text


def test_an_empty_view_says_what_to_do(explorer: Explorer) -> None:
    explorer.open(view="sessions")
    assert "weft context --session" in explorer.text("#drawn")
    explorer.open(("tenant", "finance"), view="cast")
    assert "weft index BOOK --as story" in explorer.text("#drawn")


def test_a_folder_is_indexed_from_the_browser_with_its_progress(
    writing_explorer: Explorer, tmp_path: Path
) -> None:
    folder = tmp_path / "tea"
    folder.mkdir()
    for number in range(30):
        (folder / f"{number}.md").write_text(f"# Tea {number}\n\nTea number {number} is green.\n")
    writing_explorer.open(view="store")
    writing_explorer.find("#index-path").send_keys(str(folder))
    writing_explorer.find("#index-form button").click()
    writing_explorer.wait_for("#drawn", "30 written")
    assert "tea" in writing_explorer.text("table")


def test_no_view_scrolls_sideways_on_a_phone(explorer: Explorer) -> None:
    for name in WAYS:
        explorer.open(view=name)
        set_screen(explorer.browser, 390, 800)
        explorer.browser.refresh()
        explorer.wait("return document.body.dataset.ready === 'yes'")
        assert explorer.browser.execute_script("return document.documentElement.scrollWidth") <= 390, name
        inside = "const view = document.querySelector('#view'); return view.scrollWidth - view.clientWidth"
        assert explorer.browser.execute_script(inside) <= 0, name


def test_a_page_is_compared_from_the_question_with_other_settings(explorer: Explorer) -> None:
    explorer.open(("topic", "How are large refunds approved?"), ("max_tokens", 300), ("tenants", "support"))
    explorer.press(Keys.ESCAPE, "x")
    explorer.wait("return document.body?.dataset.view === 'compare' && document.body.dataset.ready === 'yes'")
    explorer.wait_for("#drawn", "Both pages show the same.")
    # Emptying the field first would already be a change.
    explorer.find("[name=right-max_tokens]").send_keys(Keys.CONTROL + "a" + Keys.NULL, "900", Keys.TAB)
    explorer.wait_for("#drawn", "appeared")
    assert "max_tokens: 300 → 900" in explorer.text("#drawn")
    assert "max_tokens=900" in explorer.query["right"][0]
    explorer.choose("#choices .toggle button", "Pages")
    explorer.wait("return document.querySelectorAll('.compared-text .appeared').length > 0")
    explorer.browser.back()
    explorer.wait("return document.querySelector('.compared') !== null")


def test_what_was_given_is_compared_with_now_from_a_session(writing_explorer: Explorer) -> None:
    writing_explorer.open(view="sessions")
    writing_explorer.find(".links a").click()
    writing_explorer.wait(
        "return document.body?.dataset.view === 'compare' && document.body.dataset.ready === 'yes'"
    )
    writing_explorer.wait_for("#drawn", "given 1 Mar 2026")


def test_what_is_around_an_item_is_drawn_and_a_mark_starts_from_there(explorer: Explorer) -> None:
    explorer.open(("topic", "Tamsin Roke"), ("max_tokens", 900))
    explorer.find(".line.known").click()
    explorer.press("g")
    explorer.wait("return document.querySelectorAll('#around .mark').length > 3")
    assert explorer.query["side"] == ["around"]
    drawn = explorer.browser.execute_script("return document.querySelector('#around').innerHTML")
    explorer.browser.refresh()
    explorer.wait("return document.querySelectorAll('#around .mark').length > 3")
    assert explorer.browser.execute_script("return document.querySelector('#around').innerHTML") == drawn
    explorer.browser.execute_script(
        "document.querySelectorAll('#around .mark')[1].dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    )
    explorer.wait("return new URLSearchParams(location.search).get('topic') !== 'Tamsin Roke'")
    explorer.press("l")
    explorer.wait("return document.activeElement.id === 'ledger'")


def test_marked_lines_become_a_set_and_score_other_settings(writing_explorer: Explorer) -> None:
    explorer = writing_explorer
    explorer.open(view="judge")
    assert "No line is marked yet" in explorer.text("#drawn")
    explorer.open(("topic", "When is lunch served?"))
    script = (
        "const lines = [...document.querySelectorAll('.line.known')];"
        "lines.find(each => each.textContent.includes(arguments[0])).click();"
        "document.querySelector('#page').focus()"
    )
    explorer.browser.execute_script(script, "noon in the yellow hall")
    explorer.press("y")
    explorer.wait("return document.querySelector('.line.needed') !== null")
    explorer.browser.execute_script(script, "green hall")
    explorer.press("u")
    explorer.wait("return document.querySelector('.line.noise') !== null")
    explorer.find("[data-view-to=judge]").click()
    explorer.wait_for("#drawn", "1 of 1 needed line, 1 of 1 noise line")
    budget = explorer.find("[name=max_tokens]")
    budget.send_keys("3", Keys.TAB)
    explorer.wait_for("#drawn", "0 of 1 needed line")
    explorer.choose("#drawn button", "Save beside the store")
    explorer.wait_for("#status", "marks.json")
    explorer.choose("#drawn button", "Remove all marks")
    explorer.wait_for("#drawn", "No line is marked yet")
    explorer.choose("#choices button", "Undo")
    explorer.wait_for("#drawn", "needed line")
    explorer.browser.execute_script("localStorage.clear()")


def choose_row(explorer: Explorer, title: str) -> None:
    explorer.wait_for("#ledger", title)
    script = (
        "[...document.querySelectorAll('.entry')].find(each => each.textContent.includes(arguments[0])).click();"
        "document.querySelector('#ledger').focus()"
    )
    explorer.browser.execute_script(script, title)


def test_an_item_is_forgotten_after_a_preview_and_brought_back(writing_explorer: Explorer) -> None:
    explorer = writing_explorer
    explorer.open(("topic", "When is lunch served?"))
    explorer.wait_for("#page", "green hall")
    choose_row(explorer, "Old lunch rules")
    explorer.press("e")
    explorer.wait("return document.querySelector('#correct').open")
    explorer.find("#preview").click()
    explorer.wait_for("#correct-preview", "vanished")
    assert "Nothing is changed yet" in explorer.text("#correct-preview")
    explorer.find("#apply").click()
    explorer.wait("return !document.querySelector('#page').textContent.includes('green hall')")
    explorer.choose("#undo button", "Undo")
    explorer.wait_for("#page", "green hall")
    explorer.open(view="corrections")
    assert "Nothing was corrected yet" in explorer.text("#drawn")


def test_a_kind_is_lowered_in_a_profile_of_ones_own_that_is_shown_as_toml(writing_explorer: Explorer) -> None:
    explorer = writing_explorer
    explorer.open(("topic", "When is lunch served?"), ("floor", "0"))
    choose_row(explorer, "Lunch rumour")
    explorer.press("e")
    explorer.wait("return document.querySelector('#correct').open")
    explorer.find("#correct-action").send_keys("Raise")
    explorer.find("[name=factor]").send_keys("much lower")
    explorer.find("#preview").click()
    explorer.wait_for("#correct-preview", "rumour = 0.4")
    explorer.find("#apply").click()
    explorer.wait("return location.search.includes('profile=mine')")
    explorer.wait("return document.querySelector('#profile').value === 'mine'")
    explorer.open(view="corrections")
    assert "Saved the profile mine" in explorer.text("#drawn")
    explorer.choose("#drawn button", "Undo")
    explorer.wait_for("#drawn", "Nothing was corrected yet")


def test_an_explorer_that_only_looks_offers_no_correction(explorer: Explorer) -> None:
    explorer.open(("topic", "How are large refunds approved?"), ("tenants", "support"))
    explorer.find(".line.known").click()
    assert "Correct" not in explorer.text("#card")
    explorer.press("e")
    explorer.wait_for("#status", "weft explore --write")


def test_what_is_stale_and_what_failed_is_said(writing_explorer: Explorer, tmp_path: Path) -> None:
    folder = tmp_path / "tea"
    folder.mkdir()
    (folder / "green.md").write_text("# Green tea\n\nGreen tea is served at four.\n")
    (folder / "bad.ipynb").write_text("{ this is no notebook")
    explorer = writing_explorer
    explorer.open(view="store")
    explorer.find("#index-path").send_keys(str(folder), Keys.ENTER)
    explorer.wait_for("#drawn", "written")
    explorer.wait_for("#drawn", "Last errors")
    assert "bad.ipynb" in explorer.text(".errors")
    shutil.rmtree(folder)
    explorer.open(view="store")
    explorer.wait_for("#drawn", "Out of date")
    assert "tea" in explorer.text(".notice")


def test_conversations_stand_on_a_timeline_of_their_own(chat_explorer: Explorer) -> None:
    explorer = chat_explorer.open(("track", "chats"), view="timeline")
    text = explorer.text(".events")
    assert text.index("When do we close?") < text.index("At six on Fridays.")
    explorer.find(".event button").click()
    explorer.wait("return document.querySelector('#source').open")


def test_two_profiles_are_compared_and_every_change_says_why(explorer: Explorer) -> None:
    side = "topic=How are large refunds approved?&tenants=support&tenants=finance&max_tokens=500"
    explorer.open(("left", side), ("right", f"{side}&profile=knowledge"), view="compare")
    explorer.wait_for("#drawn", "profile: 'general' → 'knowledge'")
    for what in ("appeared", "vanished", "moved"):
        assert what in explorer.text(".compare-head")
    changes = "tr:not(.same) .why-cell small"
    script = "return [...document.querySelectorAll(arguments[0])].map(each => each.textContent.trim())"
    said = explorer.browser.execute_script(script, changes)
    assert len(said) > 2
    assert all(said)
