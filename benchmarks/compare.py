"""Measure a comparison of ten runs of all 1,609 documents, the size of its report, and its speed in Chromium.

The documents are synthetic. The responses have about 1,500 characters, as those of models that reason before they
answer. Each call is a new process, as for a user, with all imports.
"""

from __future__ import annotations

import random
import shutil
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks import Measurement
from benchmarks._processes import MERA_RU, Ended, median_of

MODELS = 10
RESPONSE = 1_500  # characters, on average


def measurements() -> Iterator[Measurement]:
    """Yield the time and memory of the two calls, the sizes of report and responses, and times in Chromium."""
    from benchmarks._runs import run_once, write_models
    from tests.support.synthetic import write_data

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        once = run_once(folder / "once", write_data(folder / "data"))
        size = write_models(once, folder / "results", models=MODELS, explain=_explanation)
        command = [*MERA_RU, "compare", folder / "results"]
        yield from _lines("compare ten runs", median_of([*command, "--format", "json"]), 5)
        report = folder / "report.html"
        yield from _lines("report of ten runs", median_of([*command, "-o", report], makes=report), 15)
        yield Measurement("the report's size", report.stat().st_size / 1e6, "MB", "twice the responses", 2 * size / 1e6)
        yield from _in_browser(report)


# The milliseconds from the start of loading to the first screen, and to the list of documents.
_WATCH = """
const watch = (name, css) => {
  const observer = new MutationObserver(() => {
    if (!document.querySelector(css)) return;
    window[name] = performance.now();
    observer.disconnect();
  });
  observer.observe(document, {childList: true, subtree: true});
};
watch("first", "#board tbody");
watch("ready", ".item");
"""
_FILTER = """([id, value]) => {
  const select = document.getElementById(id);
  select.value = value;
  const start = performance.now();
  select.dispatchEvent(new Event("change"));
  document.body.offsetHeight;  // lays the page out
  return performance.now() - start;
}"""
_SEARCH = """(words) => {
  document.getElementById("search").value = words;
  const start = performance.now();
  document.getElementById("filters").dispatchEvent(new Event("submit", {cancelable: true}));
  document.body.offsetHeight;
  return performance.now() - start;
}"""


def _in_browser(report: Path) -> Iterator[Measurement]:
    """Yield the median times to open, filter and search the report; nothing without Chromium."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return
    if chromium is None:
        return
    first, ready, filters, searches = [], [], [], []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for _ in range(5):
            page = browser.new_page(viewport={"width": 1400, "height": 900})
            page.add_init_script(_WATCH)
            page.goto(report.as_uri())
            page.wait_for_selector(".item")
            first.append(page.evaluate("window.first"))
            ready.append(page.evaluate("window.ready"))
            page.wait_for_timeout(2000)  # meanwhile, a reader looks at the first screen
            best, second = page.locator("#sample-a option").all_text_contents()[1:3]
            changes = [("sample-outcome", "disagree"), ("sample-a", best), ("sample-b", second)]
            changes += [("sample-outcome", "pair"), ("sample-outcome", "any"), ("sample-a", ""), ("sample-b", "")]
            filters += [page.evaluate(_FILTER, [*change]) for change in changes]
            searches += [page.evaluate(_SEARCH, words) for words in ("ответ", "такого слова нет", "да не", "")]
            page.close()
        browser.close()
    yield Measurement("the report's first screen", statistics.median(first) / 1000, "s", "target", 1)
    yield Measurement("the report's documents", statistics.median(ready) / 1000, "s", "target", 1)
    yield Measurement("a filter in the report", statistics.median(filters), "ms", "target", 50)
    yield Measurement("a search in the report", statistics.median(searches), "ms", "target", 50)


def _lines(name: str, ended: Ended, target: float) -> Iterator[Measurement]:
    yield Measurement(name, ended.seconds, "s", "target", target)
    yield Measurement(f"{name}, memory", ended.mebibytes, "MiB", "target", 1024)


def _explanation(maker: random.Random) -> str:
    words = (maker.choice(_WORDS) for _ in range(maker.randint(RESPONSE // 14, RESPONSE // 5)))
    return " ".join(words).capitalize() + ".\n\n"


_WORDS = [
    "".join(maker.choice("бвгдзклмнпрст") + maker.choice("аеиоуыя") for _ in range(maker.randint(2, 5)))
    for maker in [random.Random(0)]
    for _ in range(5000)
]
