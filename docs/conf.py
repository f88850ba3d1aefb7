"""Settings of the documentation site, for both languages. `make docs` builds the site.

The English pages are in this folder, and the Russian pages are in the folder `ru`. They are built separately with the
same settings, so that search and navigation are in the language of the page. Neither the build nor the pages load
anything from the network.
"""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

project = "mera-ru-tasks"
author = "The mera-ru-tasks developers"
copyright = f"{author}, MIT"
release = version = importlib.import_module("mera_ru_tasks").__version__
html_title = f"{project} {release}"
language = "en"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["ru"]
templates_path = ["_templates"]
locale_dirs = [str(HERE / "locale")]
nitpicky = False

myst_enable_extensions = ["colon_fence", "attrs_inline"]
myst_heading_anchors = 4

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/language.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
napoleon_google_docstring = True
napoleon_numpy_docstring = False


# A Markdown link, but not a picture.
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(((?:\.\./)+[^)\s#]+)(?:#[^)\s]*)?\)")


def _name_files(app: Any, docname: str, source: list[str]) -> None:
    """Replace a link to a file that the site lacks, such as sample data, with the file's name."""
    folder = Path(app.env.doc2path(docname)).parent

    def named(link: re.Match[str]) -> str:
        path = (folder / link[2]).resolve()
        return link[0] if path.is_relative_to(HERE) else f"{link[1]} (`{path.relative_to(HERE.parent).as_posix()}`)"

    source[0] = _LINK.sub(named, source[0])


def setup(app: Any) -> dict[str, Any]:
    """Register the features of the site that are not extensions."""
    app.connect("source-read", _name_files)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
