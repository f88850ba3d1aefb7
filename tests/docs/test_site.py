"""The documentation site: both languages build without warnings, no link is broken, and nothing is loaded remotely."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.support.documents import REPOSITORY

pytestmark = pytest.mark.slow

DOCS = REPOSITORY / "docs"


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site, with the Russian pages in the folder `ru`."""
    root = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "-c", str(DOCS)]
    for arguments in ([str(DOCS), str(root)], ["-D", "language=ru", str(DOCS / "ru"), str(root / "ru")]):
        built = subprocess.run([*build, *arguments], capture_output=True, text=True, check=False)
        assert built.returncode == 0, built.stderr
    return root


class Page(HTMLParser):
    """Collect the links, the loaded files and the anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = {""}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.anchors.add(found.get("id") or "")
        if tag == "a":
            self.links.append(found.get("href") or "")
        elif tag == "link" and found.get("rel") in ("stylesheet", "preload", "icon"):
            self.loaded.append(found.get("href") or "")
        self.loaded.append(found.get("src") or "")


@cache
def parsed(path: Path) -> Page:
    return Page(path.read_text(encoding="utf-8"))


def test_each_source_page_is_built(site: Path) -> None:
    for source in (*DOCS.glob("*.md"), *DOCS.glob("ru/*.md")):
        assert (site / source.relative_to(DOCS)).with_suffix(".html").is_file(), source


def test_each_link_of_the_site_leads_somewhere(site: Path) -> None:
    for path in site.rglob("*.html"):
        for link in parsed(path).links:
            target = urlsplit(link)
            if target.scheme:
                assert target.scheme in ("https", "mailto"), (path, link)
                continue
            file = (path.parent / unquote(target.path)).resolve() if target.path else path
            assert file.is_file(), (path, link)
            if file.suffix == ".html":
                assert unquote(target.fragment) in parsed(file).anchors, (path, link)


def test_each_page_leads_to_itself_in_the_other_language(site: Path) -> None:
    for source in DOCS.glob("*.md"):
        name = source.with_suffix(".html").name
        assert f"ru/{name}" in parsed(site / name).links
        assert f"../{name}" in parsed(site / "ru" / name).links


def test_no_page_loads_anything_from_the_network(site: Path) -> None:
    for path in site.rglob("*.html"):
        assert not [name for name in parsed(path).loaded if urlsplit(name).netloc], path
    for style in site.rglob("*.css"):
        assert "url(http" not in style.read_text(encoding="utf-8").replace('"', "").replace("'", ""), style
