"""The report's file: data, style and script together, under a policy that lets nothing else in."""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from functools import cache
from pathlib import Path
from typing import Any

from mera_ru_tasks.compare.compare import Comparison
from mera_ru_tasks.compare.export import to_data
from mera_ru_tasks.compare.html.samples import pack
from mera_ru_tasks.compare.notes import RUSSIAN, fragment, joined, sentence
from mera_ru_tasks.textutil import encodable, strict_json

_ASSETS = Path(__file__).parent / "assets"

# In the order in which they need each other.
_SCRIPTS = ("dom.js", "plot.js", "board.js", "parts.js", "browser.js", "main.js")

# Higher levels take three times as long for a tenth of the size.
_COMPRESSION = 3

# What could end the element that holds JSON, or a line of it in old readers. Inside JSON these stand in strings alone.
_ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


def build(comparison: Comparison) -> str:
    """Build the report as the text of an HTML file."""
    style, script = _asset("report.css"), _script()
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    summary = {"texts": json.loads(_asset("texts.json")), "data": _data(comparison), "russian": _russian(comparison)}
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="referrer" content="no-referrer">',
            "<title>mera-ru compare</title>",
            f"<style>{style}</style>",
            "</head>",
            "<body>",
            _asset("page.html"),
            f'<script type="application/json" id="summary">{_json(summary).translate(_ESCAPES)}</script>',
            f'<script type="text/plain" id="packed-samples">{_packed(pack(comparison))}</script>',
            f"<script>{script}</script>",
            "</body>",
            "</html>",
            "",
        ]
    )


def _data(comparison: Comparison) -> dict[str, Any]:
    """What the page shows; models by their labels alone, since a name can be a path on the user's machine."""
    data = to_data(comparison)
    models = [
        {**model, "runs": [{**run, "model_name": model["label"]} for run in model["runs"]]} for model in data["models"]
    ]
    return {**data, "models": models}


def _russian(comparison: Comparison) -> dict[str, str]:
    """Return the notes in Russian, by their English texts, which the data hold."""
    rows = (*comparison.rows, *comparison.means)
    russian = {
        sentence(one, shared=True): sentence(one, RUSSIAN, shared=True)
        for one in (*comparison.choices, *comparison.problems)
    }
    for verdict in comparison.verdicts:
        russian[fragment(verdict.measure)] = fragment(verdict.measure, RUSSIAN)
        for one in verdict.sentences:
            russian[sentence(one, shared=True)] = sentence(one, RUSSIAN, shared=True)
    if comparison.family_note:
        russian[sentence(comparison.family_note)] = sentence(comparison.family_note, RUSSIAN)
    for row in rows:
        russian[joined(row.why_not, shared=True)] = joined(row.why_not, RUSSIAN, shared=True)
        for one in (*row.incomplete, *row.notes):
            russian[fragment(one, shared=True)] = fragment(one, RUSSIAN, shared=True)
    return russian


def _json(value: Any) -> str:
    return encodable(strict_json(value, separators=(",", ":")))


def _packed(value: Any) -> str:
    """JSON, deflated, as base64: a fraction of the size, and without a character that HTML knows."""
    return base64.b64encode(zlib.compress(_json(value).encode(), _COMPRESSION)).decode("ascii")


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}"


def _script() -> str:
    parts = "\n".join(_asset(name) for name in _SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}\n}})();'


@cache
def _asset(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")
