"""Open a report in Chromium."""

import shutil
from pathlib import Path

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip

_with_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: `apt-get install chromium`")


def in_browser(test):
    """Mark a test that needs Chromium: it is slow, and it is skipped without Chromium."""
    return pytest.mark.slow(_with_chromium(test))


class Opened:
    """A report in the browser, with its requests and errors."""

    def __init__(self, browser, file, address="", before="", **settings):
        """Open a report at a fragment of its address, such as `#a=model`. Run a script before the report is loaded."""
        settings = {"locale": "en-US", "viewport": {"width": 1360, "height": 900}, **settings}
        self.context = browser.new_context(**settings)
        self.page = self.context.new_page()
        if before:
            self.page.add_init_script(before)
        self.requests, self.complaints = [], []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.complaints.append(dialog.message), dialog.dismiss()))
        self.page.goto(Path(file).as_uri() + address)
        self.page.wait_for_selector(".item", state="attached")

    def count(self):
        return int(self.page.inner_text("#sample-count").split()[0])

    def filter(self, **chosen):
        for name, value in chosen.items():
            self.page.select_option(f"#sample-{name}", value=None if value is None else str(value))
