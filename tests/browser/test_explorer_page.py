"""The explorer in a real browser, as a person uses it."""

import re
from pathlib import Path

import pytest

pytest.importorskip("selenium")

from chromium import Explorer, requested, set_screen
from selenium.webdriver import ActionChains, Chrome
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

QUESTION = "How are large refunds approved?"
SUPPORT = [("tenants", "support"), ("tenants", "finance")]


def test_typing_draws_the_page_and_the_address_holds_the_question(explorer: Explorer) -> None:
    explorer.open(*SUPPORT)
    assert "See what the model will read" in explorer.text("#page")
    explorer.find("#question").send_keys(QUESTION)
    explorer.wait_for("#page", "Second approval of large refunds")
    assert explorer.query["topic"] == [QUESTION]
    assert "of 4,000 tokens" in explorer.text("#figures")


def test_a_shared_address_shows_the_same_view(explorer: Explorer) -> None:
    query = [
        ("topic", QUESTION),
        ("max_tokens", 600),
        ("format", "xml"),
        ("view", "raw"),
        ("show", "dropped"),
        *SUPPORT,
    ]
    explorer.open(*query, ("line", 5))
    page = explorer.text("#page")
    explorer.open()
    explorer.open(*query, ("line", 5))
    assert explorer.text("#page") == page
    assert explorer.find("#budget-number").get_attribute("value") == "600"
    assert explorer.find("#line-5").get_attribute("aria-selected") == "true"
    assert explorer.find("[data-show=dropped]").get_attribute("aria-pressed") == "true"


def test_dragging_the_slider_changes_the_page_and_never_exceeds_the_budget(explorer: Explorer) -> None:
    explorer.open(("topic", QUESTION), *SUPPORT)
    before = explorer.text("#page")
    slider = explorer.find("#budget-slider")
    ActionChains(explorer.browser).click_and_hold(slider).move_by_offset(-110, 0).release().perform()
    explorer.wait("return document.querySelector('#page').textContent !== arguments[0]", before)
    budget = int(explorer.query["max_tokens"][0])
    assert 200 <= budget < 4000
    explorer.wait_for("#figures", f"of {budget:,} tokens")
    assert int(explorer.text("#figures").split(" ")[0].replace(",", "")) <= budget


def test_back_returns_to_the_view_before(explorer: Explorer) -> None:
    explorer.open(("topic", QUESTION), *SUPPORT)
    explorer.find("#format").send_keys("plain")
    explorer.wait("return location.search.includes('format=plain')")
    explorer.browser.back()
    explorer.wait("return !location.search.includes('format=plain')")
    explorer.wait("return document.querySelector('#page .h1') !== null")


def test_keys_alone_ask_walk_explain_and_open_a_line(explorer: Explorer) -> None:
    explorer.open(*SUPPORT)
    explorer.press(Keys.ESCAPE, "/")
    explorer.press(QUESTION)
    explorer.wait_for("#page", "Second approval of large refunds")
    explorer.press(Keys.ENTER)
    explorer.press(Keys.ARROW_DOWN, "j", "j")
    explorer.wait("return document.querySelector('.line.lit.known') !== null")
    # Two keys from the page: one to the line, and the card beside it explains it already.
    explorer.wait_for("#card", "Printed as")
    row = explorer.browser.execute_script("return document.querySelector('.entry.lit').dataset.row")
    assert explorer.browser.execute_script("return document.querySelector('.segment.lit').dataset.row") == row
    explorer.press(Keys.ENTER)
    explorer.wait("return document.querySelector('#source').open")
    assert explorer.text("#source-text").strip()
    explorer.press(Keys.ESCAPE)
    explorer.press("r")
    explorer.wait("return document.querySelector('#page').classList.contains('raw')")
    explorer.press("]")
    explorer.wait("return location.search.includes('max_tokens')")
    explorer.press("?")
    explorer.wait("return document.querySelector('#keys').open")


def test_the_ledger_filters_and_sorts(explorer: Explorer) -> None:
    explorer.open(("topic", QUESTION), ("max_tokens", 300), *SUPPORT)
    explorer.find("[data-show=dropped]").click()
    explorer.wait("return [...document.querySelectorAll('.entry')].every(row => row.matches('.dropped'))")
    explorer.find("#find").send_keys("zzzz")
    explorer.wait_for("#ledger", "No candidate matches")
    explorer.find("#find").send_keys(Keys.BACKSPACE * 4)
    explorer.find("[data-show=all]").click()
    explorer.find("[data-sort=title]").click()
    titles = (
        "return [...document.querySelectorAll('.entry .name > span')].map(each => each.textContent.toLowerCase())"
    )
    assert (found := explorer.browser.execute_script(titles)) == sorted(found)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Four-eyes rule", "belongs to the tenant 'shared'"),
        ("How do I close a supplier account?", "Nothing is stored under the name"),
        ("Second approval of large refunds", "It is on the page as"),
    ],
)
def test_why_not_answers_for_any_name(explorer: Explorer, name: str, said: str) -> None:
    explorer.open(("topic", QUESTION), ("max_tokens", 800), *SUPPORT)
    explorer.press("n")
    explorer.press(name, Keys.ENTER)
    explorer.wait_for("#why-answer", said)


def test_what_is_said_to_bring_an_item_brings_it(explorer: Explorer) -> None:
    explorer.open(("topic", QUESTION), ("max_tokens", 300), ("show", "dropped"), *SUPPORT)
    key = explorer.browser.execute_script("return document.querySelector('.entry.dropped').dataset.row")
    title = explorer.text(f".entry[data-row='{key}'] .name > span")
    explorer.find(f".entry[data-row='{key}']").click()
    explorer.press("w")
    explorer.wait_for("#why-answer", "appears from about")
    explorer.find("#why-answer .offers button").click()
    explorer.wait_for("#page", title)


def test_topics_are_chips_that_can_be_taken_back(explorer: Explorer) -> None:
    explorer.open(*SUPPORT)
    explorer.press(Keys.ESCAPE, "/")
    explorer.press("refunds")
    ActionChains(explorer.browser).key_down(Keys.SHIFT).send_keys(Keys.ENTER).key_up(Keys.SHIFT).perform()
    explorer.press("credit notes")
    explorer.wait("return document.querySelectorAll('.chip').length === 1")
    assert explorer.query["topic"] == ["refunds", "credit notes"]
    explorer.find(".chip button").click()
    explorer.wait("return document.querySelectorAll('.chip').length === 0")
    assert explorer.query["topic"] == ["credit notes"]


def test_hostile_text_stays_text(explorer: Explorer) -> None:
    explorer.open(("topic", "quarterly hostility report"))
    explorer.wait_for("#page", "onerror")
    explorer.find(".line.known").click()
    explorer.press(Keys.ENTER)
    explorer.wait("return document.querySelector('#source').open")
    assert explorer.browser.title == "quarterly hostility report · Weft"
    made = "return document.querySelectorAll('#page :is(img, script, a), #source :is(img, script)').length"
    assert explorer.browser.execute_script(made) == 0


def test_text_from_right_to_left_is_set_so(explorer: Explorer) -> None:
    explorer.open(("topic", "אבטיחים"))
    explorer.wait_for("#page", "עברית")
    script = (
        "return [...document.querySelectorAll('.line')].filter(line => line.textContent.includes('עברית'))"
        ".map(line => getComputedStyle(line).direction)"
    )
    assert "rtl" in explorer.browser.execute_script(script)


def test_japanese_is_found_and_marked_as_such(explorer: Explorer) -> None:
    explorer.open(("topic", "昼食は何時ですか"))
    explorer.wait_for("#page", "正午")
    script = (
        "return [...document.querySelectorAll('.line')].find(each => each.textContent.includes('正午に')).lang"
    )
    assert explorer.browser.execute_script(script) == "ja"


def test_errors_say_what_to_do(explorer: Explorer) -> None:
    explorer.open(("topic", QUESTION), ("profile", "nonsense"))
    explorer.wait_for("#page", "nonsense")
    assert "general" in explorer.text("#page .problem")


def test_no_request_leaves_the_host_and_nothing_breaks_the_policy(explorer: Explorer) -> None:
    requested(explorer.browser)
    explorer.open(("topic", QUESTION), *SUPPORT)
    explorer.wait_for("#legend", "would bring")
    asked = requested(explorer.browser)
    assert any("/explore/page" in url for url in asked)
    assert [url for url in asked if not url.startswith((explorer.address, "blob:", "data:"))] == []
    complaints = [each["message"] for each in explorer.browser.get_log("browser")]
    assert [each for each in complaints if "Content Security Policy" in each or "Uncaught" in each] == []


def test_a_phone_shows_one_pane_and_does_not_scroll_sideways(explorer: Explorer) -> None:
    explorer.open(("topic", QUESTION), *SUPPORT)
    set_screen(explorer.browser, 390, 800)
    explorer.browser.refresh()
    explorer.wait("return document.body.dataset.ready === 'yes'")
    assert not explorer.find("#ledger").is_displayed()
    explorer.find("[data-pane-to=why]").click()
    assert explorer.find("#ledger").is_displayed()
    assert explorer.browser.execute_script("return document.documentElement.scrollWidth") <= 390


def test_the_theme_is_kept(explorer: Explorer) -> None:
    explorer.open(("topic", QUESTION), *SUPPORT)
    back = "return getComputedStyle(document.body).backgroundColor"
    light = explorer.browser.execute_script(back)
    explorer.find("#theme").click()
    dark = explorer.browser.execute_script(back)
    explorer.browser.refresh()
    assert light != dark == explorer.browser.execute_script(back)
    explorer.browser.execute_script("localStorage.clear()")


def test_a_key_is_asked_for_and_shows_its_tenants_only(
    shared_browser: Chrome, keyed_address: tuple[str, str]
) -> None:
    address, key = keyed_address
    explorer = Explorer(shared_browser, address)
    shared_browser.get(f"{address}/explore?topic=lunch")
    explorer.wait("return document.querySelector('#key-needed').open")
    explorer.find("#key").send_keys("wrong", Keys.ENTER)
    explorer.wait_for("#key-problem", "not in use")
    explorer.find("#key").send_keys(key, Keys.ENTER)
    explorer.wait_for("#page", "noon")
    assert "secret" not in explorer.browser.page_source
    assert "other" not in explorer.text("#tenant-choices")


DRAW_MANY = """
const done = arguments[0];
import(new URL("ledger.js", document.querySelector("script[type=module]").src)).then(({ Ledger }) => {
  const rows = Array.from({ length: 30000 }, (_, number) => ({
    title: `Row ${number}`, key: `k:${number}`, kind: "note", tenant: "t", section: "context", detail: "dropped",
    reason: "", path: "", score: number, tokens: number, parts: { relevance: 0.5 }, appears: null,
  }));
  const answer = { rows, sections: [{ name: "context", weights: { relevance: 1 }, product: false }] };
  const ledger = new Ledger(() => {}, () => {});
  const drawn = () => [...ledger.spacer.querySelectorAll(".entry")].map((entry) => Number(entry.dataset.row));
  ledger.draw(answer, { sort: "score", show: "all", find: "" });
  const first = drawn();
  ledger.element.scrollTop = ledger.element.scrollHeight;
  requestAnimationFrame(() => requestAnimationFrame(() => {
    const last = drawn();
    ledger.draw(answer, { sort: "score", show: "all", find: "row 29998" });
    done([first, last, ledger.order]);
  }));
}).catch((error) => done([String(error)]));
"""


def test_a_ledger_of_thirty_thousand_rows_sorts_scrolls_and_filters_with_few_of_them_drawn(
    explorer: Explorer,
) -> None:
    explorer.open(("topic", QUESTION), *SUPPORT)
    first, last, found = explorer.browser.execute_async_script(DRAW_MANY)
    assert first[0] == 29_999
    assert last[-1] == 0
    assert found == [29_998]
    assert max(len(first), len(last)) < 100


@pytest.mark.parametrize(
    ("query", "control", "value", "name"),
    [
        ([("topic", QUESTION), *SUPPORT], "#profile", "knowledge", "profile"),
        ([("topic", "Tamsin Roke"), ("profile", "notes")], "#lens", "writing", "lens"),
        ([("topic", QUESTION), *SUPPORT], "#format", "xml", "format"),
        ([("topic", QUESTION), *SUPPORT], "#floor", "1", "floor"),
        ([("topic", QUESTION), *SUPPORT], "#budget-number", "250", "max_tokens"),
        ([("topic", "What happens in Springs?"), ("profile", "narrative")], "#as-of", "2", "as_of"),
        ([("topic", QUESTION), *SUPPORT], "#tenant-choices input[value=finance]", "", "tenants"),
    ],
)
def test_every_control_redraws_the_page_and_stands_in_the_address(
    explorer: Explorer, query: list[tuple[str, object]], control: str, value: str, name: str
) -> None:
    explorer.open(*query)
    before = explorer.text("#page")
    script = """
        const control = document.querySelector(arguments[0]);
        if (control.type === 'checkbox') control.click();
        else {
          control.value = arguments[1];
          for (const event of ['input', 'change']) control.dispatchEvent(new Event(event, {bubbles: true}));
        }"""
    explorer.browser.execute_script(script, control, value)
    explorer.wait("return document.querySelector('#page').textContent !== arguments[0]", before)
    assert explorer.query[name] == ([value] if value else ["support"])
    after = explorer.text("#page")
    explorer.browser.back()
    explorer.wait("return document.querySelector('#page').textContent === arguments[0]", before)
    explorer.browser.forward()
    explorer.wait("return document.querySelector('#page').textContent === arguments[0]", after)


def test_a_page_is_copied_and_downloaded_as_the_model_gets_it(explorer: Explorer, tmp_path: Path) -> None:
    explorer.open(("topic", QUESTION), ("max_tokens", 500), ("view", "raw"), *SUPPORT)
    explorer.browser.execute_cdp_cmd(
        "Browser.grantPermissions", {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}
    )
    explorer.browser.execute_cdp_cmd(
        "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)}
    )
    shown = "\n".join(
        explorer.browser.execute_script(
            "return [...document.querySelectorAll('.line')].map(each => each.textContent)"
        )
    )
    explorer.find("#copy").click()
    explorer.wait_for("#status", "Copied")
    copied = explorer.browser.execute_async_script("navigator.clipboard.readText().then(arguments[0])")
    assert copied.rstrip("\n") == shown
    explorer.find("#download").click()
    explorer.wait_for("#status", "Downloaded weft-")
    name = explorer.text("#status").removeprefix("Downloaded ")
    WebDriverWait(explorer.browser, 10).until(lambda _: (tmp_path / name).is_file())
    assert name.endswith(".md")
    assert (tmp_path / name).read_text("utf-8") == copied


def test_pointing_at_a_line_lights_its_item_in_the_ledger_and_the_bar(explorer: Explorer) -> None:
    explorer.open(("topic", QUESTION), ("max_tokens", 700), *SUPPORT)
    line = explorer.find(".line.known")
    ActionChains(explorer.browser).move_to_element(line).perform()
    explorer.wait("return document.querySelector('.entry.lit') !== null")
    rows = "return ['.entry.lit', '.segment.lit'].map(each => document.querySelector(each).dataset.row)"
    entry, segment = explorer.browser.execute_script(rows)
    assert entry == segment
    assert "line=" not in explorer.browser.current_url


def test_a_line_opens_its_source_at_the_line_it_came_from(explorer: Explorer) -> None:
    explorer.open(("topic", "leases instead of locks"), ("max_tokens", 900), ("profile", "general"))
    script = "return [...document.querySelectorAll('.line.known')].find(each => each.textContent.length > 60)"
    explorer.browser.execute_script(f"{script}.click()".replace("return ", ""))
    words = explorer.browser.execute_script(f"{script}.textContent").split()[:5]
    explorer.browser.execute_script("document.querySelector('#page').focus()")
    explorer.press(Keys.ENTER)
    explorer.wait("return document.querySelector('#source').open")
    lit = explorer.browser.execute_script(
        "return [...document.querySelectorAll('#source-text .lit')].map(each => each.textContent).join(' ')"
    )
    assert words[1] in lit
    seen = """
        const box = document.querySelector('#source-text').getBoundingClientRect();
        const line = document.querySelector('#source-text .lit').getBoundingClientRect();
        return line.bottom > box.top && line.top < box.bottom"""
    assert explorer.browser.execute_script(seen)


def test_the_bar_says_what_was_spent_what_moved_between_sections_and_what_more_tokens_bring(
    explorer: Explorer,
) -> None:
    explorer.open(("topic", "Tamsin Roke"), ("profile", "narrative"), ("max_tokens", 1200))
    legend = explorer.text("#legend")
    moved = re.findall(r"([A-Z][\w ]+?) ([\d,]+) of ([\d,]+), (left|took) ([\d,]+)", legend)
    assert len(moved) == 2
    numbers = [
        (int(spent.replace(",", "")), int(share.replace(",", "")), did, int(by.replace(",", "")))
        for _, spent, share, did, by in moved
    ]
    assert all(spent - share == (by if did == "took" else -by) for spent, share, did, by in numbers)
    assert sum(share for _, share, _, _ in numbers) == 1200
    unspent = int(re.findall(r"unspent ([\d,]+)", legend)[0].replace(",", ""))
    spent = int(explorer.text("#figures").split(" ")[0].replace(",", ""))
    assert spent + unspent == 1200
    segments = "return document.querySelectorAll('.segment[data-row]').length"
    printed = int(explorer.text("#counts").split(" ")[0])
    assert explorer.browser.execute_script(segments) == printed
    explorer.wait_for("#legend", "+500 would bring")
    gained = explorer.text("#legend .gain").split(", ")[0]
    explorer.open(("topic", "Tamsin Roke"), ("profile", "narrative"), ("max_tokens", 1700))
    explorer.wait_for("#page", gained.split(" and ")[0])


def test_a_row_of_the_ledger_has_its_parts_match_path_detail_tokens_reason_and_first_budget(
    explorer: Explorer,
) -> None:
    explorer.open(("topic", QUESTION), ("max_tokens", 700), *SUPPORT)
    explorer.wait_for("#legend", "would bring")
    row = ".entry[data-row='0']"
    assert explorer.browser.execute_script(f'return document.querySelectorAll("{row} .stack b").length') > 1
    cells = explorer.browser.execute_script(
        f'return [...document.querySelectorAll("{row} .number")].map(each => each.textContent)'
    )
    tokens, match, first = (float(cell.replace(",", "")) for cell in cells)
    assert tokens > 0
    assert 0 <= match <= 1
    assert first in (200, 500)
    assert "whole · fits whole" in explorer.text(f"{row} small")
    explorer.find(row).click()
    card = explorer.text("#card")
    for words in ("Printed as whole", "fits whole", f"appears from {first:.0f} tokens", "found by its words"):
        assert words in card
    assert explorer.browser.execute_script("return document.querySelectorAll('#card .signal').length") > 1


def test_why_not_says_which_stage_lost_what_was_never_a_candidate(explorer: Explorer) -> None:
    explorer.open(
        ("topic", "Who is Tamsin Roke and what does she write?"), ("max_tokens", 400), ("profile", "notes")
    )
    explorer.press("n")
    explorer.press("Agents over MCP", Keys.ENTER)
    explorer.wait_for("#why-answer", "no stage proposed it")
    said = explorer.text("#why-answer")
    assert "Search: it" in said
    assert "Walk: " in said
    explorer.choose("#why-answer button", "Start from it instead")
    explorer.wait_for("#page", "Agents over MCP")


def test_what_is_known_only_later_is_said_to_be_so(explorer: Explorer) -> None:
    explorer.open(("topic", "Tamsin Roke"), ("as_of", 2), ("profile", "narrative"))
    explorer.press("n")
    explorer.press("Springs", Keys.ENTER)
    explorer.wait_for("#why-answer", "It is not known at point 2")
    explorer.choose("#why-answer button", "Read everything")
    explorer.wait("return !location.search.includes('as_of')")
