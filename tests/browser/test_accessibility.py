"""Every view of the explorer, light and dark, without a serious violation that axe-core finds, and without shifts.

axe-core is a tool of development: `make test-browser` fetches it beside the environment, never into the tree.
"""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("selenium")

from chromium import Explorer, set_screen

AXE = Path(__file__).parents[2] / ".venv" / "axe" / "package" / "axe.min.js"
REFUND = [("topic", "How are large refunds approved?"), ("tenants", "support"), ("max_tokens", 700)]
SIDES = [("left", "topic=refunds&tenants=support"), ("right", "topic=refunds&tenants=support&max_tokens=300")]
VIEWS: dict[str, tuple[str, list[tuple[str, object]]]] = {
    "ask": ("", [*REFUND, ("line", 5)]),
    "empty": ("", []),
    "raw": ("", [*REFUND, ("view", "raw")]),
    "around": ("", [("topic", "Tamsin Roke"), ("side", "around"), ("line", 5)]),
    "error": ("", [("topic", "refunds"), ("profile", "nonsense")]),
    "compare": ("compare", SIDES),
    "pages": ("compare", [*SIDES, ("show", "pages")]),
    "judge": ("judge", []),
    "store": ("store", []),
    "timeline": ("timeline", []),
    "commits": ("timeline", [("track", "commits")]),
    "cast": ("cast", []),
    "memory": ("memory", []),
    "sessions": ("sessions", []),
    "corrections": ("corrections", []),
}


def violations(explorer: Explorer) -> list[str]:
    """The serious and critical violations of the page as it stands."""
    explorer.browser.execute_script(AXE.read_text("utf-8"))
    script = "const done = arguments[0]; axe.run(document, {resultTypes: ['violations']}).then(done)"
    found: dict[str, Any] = explorer.browser.execute_async_script(script)
    return [
        f"{each['id']}: {node['target']} {node['failureSummary']}"
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"]
    ]


@pytest.mark.skipif(not AXE.is_file(), reason="needs axe-core: make test-browser fetches it")
@pytest.mark.parametrize("name", VIEWS)
def test_no_view_has_a_serious_violation(explorer: Explorer, name: str) -> None:
    view, query = VIEWS[name]
    for dark in (False, True):
        for width in (1360, 390):
            explorer.open(*query, view=view)
            set_screen(explorer.browser, width, 820, dark=dark)
            if name == "around":
                explorer.wait("return document.querySelectorAll('#around .mark').length > 3")
            assert violations(explorer) == [], f"{name}, {width} wide, {'dark' if dark else 'light'}"


@pytest.mark.skipif(not AXE.is_file(), reason="needs axe-core: make test-browser fetches it")
def test_no_dialog_has_a_serious_violation(writing_explorer: Explorer) -> None:
    explorer = writing_explorer
    explorer.open(("topic", "When is lunch served?"))
    explorer.find(".line.known").click()
    for key, dialog in (("?", "#keys"), ("e", "#correct")):
        explorer.press(key)
        explorer.wait("return document.querySelector(arguments[0]).open", dialog)
        assert violations(explorer) == [], dialog
        explorer.browser.execute_script("document.querySelector(arguments[0]).close()", dialog)


@pytest.mark.parametrize("name", ["ask", "store", "timeline", "cast", "memory", "compare"])
def test_nothing_moves_once_it_is_drawn(explorer: Explorer, name: str) -> None:
    view, query = VIEWS[name]
    explorer.open(*query, view=view)
    if name == "ask":
        explorer.wait_for("#legend", "would bring")
    script = """
        const done = arguments[0];
        new PerformanceObserver((list) => {}).observe({type: 'layout-shift', buffered: true});
        new PerformanceObserver((list) => done(list.getEntries().filter(each => !each.hadRecentInput)
            .reduce((sum, each) => sum + each.value, 0))).observe({type: 'layout-shift', buffered: true});
        setTimeout(() => done(0), 300);
    """
    # Below 0.1 a person does not notice it; what is asked for is drawn in one step.
    assert float(explorer.browser.execute_async_script(script)) < 0.1
