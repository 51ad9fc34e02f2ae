"""Make the pictures of docs/explorer/: every view of the explorer, light and dark, at two widths."""

import sys
import tempfile
import time
from contextlib import chdir
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from urllib.parse import urlencode

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "browser")]

from chromium import make_world, open_browser, set_screen  # noqa: E402
from PIL import Image  # noqa: E402
from selenium import webdriver  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

from rest_service import make_service, running  # noqa: E402
from weft import Weft  # noqa: E402
from weft.corrections.changes import Proposal, apply_change  # noqa: E402
from weft.interfaces.explorer import shell  # noqa: E402
from weft.model import Request  # noqa: E402

PICTURES = ROOT / "docs" / "explorer"
TENANTS = ("support", "finance", "analytics")
REFUND = [
    ("topic", "How are large refunds approved?"),
    ("max_tokens", 700),
    *(("tenants", name) for name in TENANTS),
]
NOVEL = [("topic", "Tamsin Roke"), ("profile", "narrative"), ("max_tokens", 1200)]
CORRECT = """
document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'e', bubbles: true }));
setTimeout(() => document.querySelector('#preview').click(), 300);
"""
MARKS = """
if (!localStorage.getItem('weft-marks')) {
  const question = 'How are large refunds approved?';
  const mark = (line, needed) => ({ question, line, needed });
  localStorage.setItem('weft-marks', JSON.stringify([
    mark('3. Check that requester, approver and payee are three different people.', true),
    mark('4. Approve, or send the Refund Request back with one sentence that support can forward.', true),
    mark('Refund limits by role are set by the finance desk every spring.', true),
    mark('5. After approval the refund leaves with the next run, at 11:00 or 16:00.', false)]));
  location.reload();
}"""
VIEWS: dict[str, tuple[list[tuple[str, object]], str]] = {
    "empty": ([], ""),
    "ask": ([*REFUND, ("line", 6)], ""),
    "why": (
        [*REFUND, ("pane", "why"), ("line", 6)],
        "document.getElementById('why-name').value = 'The customer returns goods after thirty days. What now?';"
        "document.getElementById('why-not').requestSubmit();",
    ),
    "around": ([*NOVEL, ("pane", "why"), ("side", "around"), ("line", 5)], ""),
    "correct": ([*REFUND, ("line", 6)], CORRECT),
    "compare": ([("left", urlencode(REFUND)), ("right", urlencode([*REFUND, ("profile", "knowledge")]))], ""),
    "judge": ([("tenants", "support"), ("tenants", "finance")], MARKS),
    "store": ([], ""),
    "timeline": ([], ""),
    "cast": ([], ""),
    "memory": ([], ""),
    "sessions": ([], ""),
    "corrections": ([], ""),
}
"""Each view: what its address asks for, and what is done in it."""
OTHER_VIEWS = frozenset(view.name for view in shell.VIEWS)
SCREENS = {"wide": (1200, 740), "phone": (390, 760)}
FREQUENT_COLOURS = 24
OTHER_COLOURS = 72
SETTLED_SECONDS = 1.6
"""Seconds until what other budgets would bring has been asked for and drawn."""


def picture(browser: webdriver.Chrome, address: str, name: str, screen: str, dark: bool) -> None:
    """Open one view and write its picture."""
    set_screen(browser, *SCREENS[screen], dark=dark)
    query, script = VIEWS[name]
    place = f"/explore/view/{name}" if name in OTHER_VIEWS else "/explore"
    browser.get(f"{address}{place}?{urlencode(query)}")
    WebDriverWait(browser, 10).until(lambda page: page.execute_script("return document.body.dataset.ready"))
    if script:
        browser.execute_script(script)
    time.sleep(SETTLED_SECONDS)
    shot = Image.open(BytesIO(browser.get_screenshot_as_png())).convert("RGB")
    path = PICTURES / f"{name}-{screen}-{'dark' if dark else 'light'}.png"
    shot.quantize(palette=_palette(shot), dither=Image.Dither.NONE).save(path, optimize=True)


def _palette(shot: Image.Image) -> Image.Image:
    """Return the colours of a picture: the most frequent ones as they are, and those that stand for the others.

    Few colours are used, so a palette makes the files a quarter as large; surfaces keep exactly theirs.
    """
    counted = sorted(shot.getcolors(shot.width * shot.height) or [], reverse=True)
    frequent = [channel for _, colour in counted[:FREQUENT_COLOURS] for channel in colour]
    covering = shot.quantize(OTHER_COLOURS, Image.Quantize.MAXCOVERAGE).getpalette() or []
    palette = Image.new("P", (1, 1))
    palette.putpalette([*frequent, *covering[: 3 * OTHER_COLOURS]])
    return palette


def make_store(folder: Path) -> Path:
    """Return a store with the example worlds, and some pages that an agent was given."""
    store = make_world(folder)
    with Weft.open(store) as weft:
        for question in ("How do I revive a dead job?", "How long is the lease?", "Who reviews changes?"):
            weft.context(question, session="claude-code/4f2a", max_tokens=900)
        now, asked = datetime.now(UTC), Request("How long is the lease?")
        apply_change(weft, Proposal("tag", key="repo:memory-no-sleep", tags=("testing", "house-rule")), asked, now)
    return store


def main() -> None:
    """Make all pictures, or those of the views that are named."""
    PICTURES.mkdir(exist_ok=True)
    wanted = sys.argv[1:] or list(VIEWS)
    with (
        tempfile.TemporaryDirectory() as folder,
        # From inside, so that a picture shows `.weft` and no path of the machine that made it.
        chdir(folder),
        running(make_service(make_store(Path()), explorer_writes=True)) as address,
        open_browser() as browser,
    ):
        for name in wanted:
            for screen in SCREENS:
                for dark in (False, True):
                    picture(browser, address, name, screen, dark)
    print(f"{len(list(PICTURES.glob('*.png')))} pictures in {PICTURES.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
