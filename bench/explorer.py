"""From a key press to the redrawn page in a real browser, over a large world and the example worlds.

python -m bench.explorer [--store bench/worlds/100000/store-static] [--questions FILE] [--presses 200]

Each question is typed letter by letter. Beside the time by the clock it prints the processor time of the service
and of the page's own thread, which says more where other programs run. It needs chromium and its driver.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

from bench.measures import percentile

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "browser")]

from chromium import make_world, open_browser, set_screen  # noqa: E402
from selenium import webdriver  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

from rest_service import make_service, running  # noqa: E402

WORLD = Path(__file__).parent / "worlds" / "100000"
LIMITS = {"large": 80.0, "examples": 50.0}
"""Milliseconds that 95 of 100 key presses may take."""
EXAMPLES = (
    "How are large refunds approved?",
    "Why did the worker say database is locked?",
    "What did Tamsin Roke find behind the drawer?",
    "How long is the lease of a job?",
)
FIRST_LETTERS = 8
"""Letters that are typed at once: what fewer of them ask for nobody waits for."""
TYPE = """
const [text, done] = arguments;
const box = document.querySelector('#question');
const began = performance.now();
const watch = new MutationObserver(() => {
    watch.disconnect();
    requestAnimationFrame(() => done(performance.now() - began));
});
watch.observe(document.body, {attributes: true, attributeFilter: ['data-drawn']});
box.value = text;
box.dispatchEvent(new Event('input'));
"""
"""Type and wait until the page is drawn and the next frame begins."""


def presses(questions: Sequence[str], limit: int) -> Iterator[str]:
    """Yield what stands in the box after each key press."""
    typed = (text[:length] for text in questions for length in range(FIRST_LETTERS, len(text) + 1))
    yield from (text for _, text in zip(range(limit), typed, strict=False))


def drawing_seconds(browser: webdriver.Chrome) -> float:
    """Return the processor time of the page's thread so far."""
    found = browser.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    return float(next(each["value"] for each in found if each["name"] == "TaskDuration"))


@contextmanager
def explored(store: Path, tenants: Sequence[str]) -> Iterator[webdriver.Chrome]:
    """Open the explorer over a store in a browser."""
    with running(make_service(store, read_only=True)) as address, open_browser() as browser:
        set_screen(browser, 1360, 860)
        browser.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
        browser.get(f"{address}/explore?{urlencode([('tenants', tenant) for tenant in tenants])}")
        WebDriverWait(browser, 20).until(lambda page: page.execute_script("return document.body.dataset.ready"))
        yield browser


def first_paint(browser: webdriver.Chrome) -> float:
    """Return the milliseconds from asking for the page to its first paint, in a browser that had nothing of it."""
    script = "return performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"
    return float(browser.execute_script(script))


def measure(name: str, store: Path, questions: Sequence[str], tenants: Sequence[str], limit: int) -> None:
    """Type the questions, and print how long the page took to follow."""
    clock, service, drawing = [], [], []
    with explored(store, tenants) as browser:
        painted = first_paint(browser)
        # The first pages fill the caches of the store and of the browser.
        for text in presses(questions, 12):
            browser.execute_async_script(TYPE, text)
        for text in presses(questions, limit):
            worked, drawn = time.process_time(), drawing_seconds(browser)
            clock.append(float(browser.execute_async_script(TYPE, text)))
            service.append(1000 * (time.process_time() - worked))
            drawing.append(1000 * (drawing_seconds(browser) - drawn))
    print(
        f"{name}: {len(clock)} key presses, of which 95 % may take {LIMITS[name]:.0f} ms; "
        f"first paint {painted:.0f} ms"
    )
    rows = {"by the clock": clock, "processor, service": service, "processor, page": drawing}
    rows["processor, both"] = [one + other for one, other in zip(service, drawing, strict=True)]
    for what, values in rows.items():
        shares = "   ".join(f"p{share} {percentile(values, share / 100):6.1f} ms" for share in (50, 95))
        print(f"  {what:20} best {min(values):6.1f} ms   {shares}")


def main() -> None:
    """Measure a large store, if there is one, and the example worlds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", type=Path, default=WORLD / "store-static")
    parser.add_argument("--questions", type=Path, default=WORLD / "questions.json")
    parser.add_argument("--presses", type=int, default=200)
    given = parser.parse_args()
    if given.store.exists():
        questions = json.loads(given.questions.read_text("utf-8"))
        measure("large", given.store, questions, ["default"], given.presses)
    else:
        print(f"There is no store in {given.store}: `python -m bench --sizes 100000` makes one.")
    with tempfile.TemporaryDirectory() as folder:
        tenants = ["default", "support", "finance"]
        measure("examples", make_world(Path(folder)), EXAMPLES, tenants, given.presses)


if __name__ == "__main__":
    main()
