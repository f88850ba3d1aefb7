"""Build the HTML report of a comparison. The report is one file that needs no network.

    __init__.py  builds the page: data, style, script, and a Content-Security-Policy that blocks all else
    plots.py     the selection of figures, and their PNG and SVG files, drawn with matplotlib
    assets/      the page's skeleton, style, script, and texts in English and Russian

Data and responses are hostile text. The file contains them as escaped JSON or as base64, so they cannot end their HTML
element. The script inserts them into the page only as text.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from mera_ru_tasks.compare.comparability import prompt_text
from mera_ru_tasks.compare.compare import Comparison
from mera_ru_tasks.compare.export import to_data
from mera_ru_tasks.compare.html.plots import Figure, figures, rankings
from mera_ru_tasks.compare.load import Answer, Entry
from mera_ru_tasks.compare.notes import RUSSIAN, fragment, joined, sentence
from mera_ru_tasks.data.schema import has_reference
from mera_ru_tasks.harness.prompt import render
from mera_ru_tasks.logs.rescore import continued
from mera_ru_tasks.paths import averaged_groups
from mera_ru_tasks.scoring import strict
from mera_ru_tasks.scoring.metrics import FLEXIBLE, STRICT
from mera_ru_tasks.scoring.score import extract_from
from mera_ru_tasks.textutil import encodable, strict_json

_ASSETS = Path(__file__).parent / "assets"

# The scripts in order of dependency.
_SCRIPTS = ("dom.js", "state.js", "plot.js", "board.js", "parts.js", "search.js", "detail.js", "browser.js", "main.js")

# Higher levels take three times as long and reduce the size by only a tenth.
_COMPRESSION = 3

# Characters that could end the HTML element, or a line in old parsers. JSON contains them only inside strings.
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
            f"<script>{script}</script>",
            f'<script type="text/plain" id="packed-samples">{_packed(pack(comparison))}</script>',
            "</body>",
            "</html>",
            "",
        ]
    )


def _data(comparison: Comparison) -> dict[str, Any]:
    """Return the data of the page. They are the comparison's data, with figures instead of breakdowns and gaps.

    Models have labels instead of names, because a name can be a path on the user's machine.
    """
    data = to_data(comparison)
    del data["breakdowns"], data["gaps"]
    # The verdict sentences of all pairs would be larger than all other data. The page has a short text for each code.
    data["pairs"] = [{name: value for name, value in pair.items() if name != "sentence"} for pair in data["pairs"]]
    models = [
        {**model, "runs": [{**run, "model_name": model["label"]} for run in model["runs"]]} for model in data["models"]
    ]
    orders = [
        {"metric": metric, "filter": name, "models": order} for (metric, name), order in rankings(comparison).items()
    ]
    return {
        **data,
        "models": models,
        "rankings": orders,
        "figures": [_figure(one) for one in figures(comparison)],
        "averaged": [task for tasks in averaged_groups().values() for task in tasks],
    }


def _figure(figure: Figure) -> dict[str, Any]:
    rows = [
        {"model": model, **{name: getattr(estimate, name) for name in ("value", "low", "high", "n")}}
        for model, estimate in figure.rows
    ]
    return {**vars(figure), "rows": rows}


def _russian(comparison: Comparison) -> dict[str, str]:
    """Return the Russian text of each note, by its English text. The data contain only the English texts."""
    rows = (*comparison.rows, *comparison.means)
    russian = {
        sentence(one, shared=True): sentence(one, RUSSIAN, shared=True)
        for one in (*comparison.choices, *comparison.issues)
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


def _packed(samples: Mapping[str, Any]) -> str:
    """Return the samples, compressed and encoded as base64. The result contains no characters with a meaning in HTML.

    The strings follow the JSON of the other fields and are separated by NUL, because browsers split a text faster than
    they parse JSON. Compressed Russian is a tenth smaller in UTF-16 than in UTF-8, and browsers decode it several times
    faster.
    """
    strings = [encodable(text).replace("\0", "\ufffd") for text in samples["strings"]]
    rest = _json({name: value for name, value in samples.items() if name != "strings"})
    packed = zlib.compress("\0".join([rest, *strings]).encode("utf-16-le"), _COMPRESSION)
    return base64.b64encode(packed).decode("ascii")


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}"


def _script() -> str:
    parts = "\n".join(_asset(name) for name in _SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}\n}})();'


@cache
def _asset(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


# The maximum length of a question in the list of documents, in characters.
_TITLE = 160

_ANSWER_FIELDS = (
    "model prompt response strict strict_code flexible code clause right right_flexible answered verdicts"
).split()
_ANSWER_SCORES = ("exact_match", STRICT), ("exact_match", FLEXIBLE), ("answered", FLEXIBLE)


class _Strings:
    """A table of texts without duplicates."""

    def __init__(self) -> None:
        self.table: dict[str, int] = {}

    def add(self, text: str) -> int:
        """Return the text's index in the table."""
        return self.table.setdefault(text, len(self.table))


def pack(comparison: Comparison) -> dict[str, Any]:
    """Return all documents and answers as JSON data.

    An answer is a list in the order of `answer_fields`. Texts are stored as indices into `strings`. Prompts and
    responses are stored as lists of texts to join. A prompt consists of the document's question, which is the same for
    all models, and of the texts before and after the question. A response consists of its reasoning, which may be
    empty, and of the text from which the filters extract the answer.
    """
    strings = _Strings()
    documents: dict[tuple[str, str], dict[str, Any]] = {}
    questions: dict[str, str] = {}
    models = {model: number for number, model in enumerate(comparison.models)}
    for entry in comparison.entries:
        for key, answer in entry.answers.items():
            document = (entry.task, key)
            if document not in documents:
                documents[document] = _document(entry, answer, comparison.tasks.index(entry.task), strings)
            if key not in questions:
                questions[key] = render(answer.doc).strip()
            scores = [entry.scores.get(measure, {}).get(key) for measure in _ANSWER_SCORES]
            packed = _answer(models[entry.model], entry, answer, scores, questions[key], strings)
            documents[document]["answers"].append(packed)
    ordered = sorted(documents.values(), key=lambda document: (document["task"], document["id"] or 0))
    return {
        "answer_fields": _ANSWER_FIELDS,
        "documents": ordered,
        "strings": list(strings.table),
    }


def _document(entry: Entry, answer: Answer, task: int, strings: _Strings) -> dict[str, Any]:
    doc = answer.doc
    return {
        "task": task,
        "id": doc["meta"].get("id"),
        "type": entry.type_of(doc),
        "title": strings.add(_title(doc["inputs"])),
        "reference": strings.add(doc["outputs"]) if has_reference(doc) else None,
        "answers": [],
    }


def _title(inputs: Mapping[str, str]) -> str:
    """Return the inputs that best identify a document. For unknown inputs, return all of them."""
    names = ("question", "enantiosemic_word", "text", "lang_unit", "example_text", "region", "option_a")
    known = [inputs[name] for name in names if inputs.get(name)]
    text = " · ".join(" ".join(value.split()) for value in known or inputs.values())
    return text if len(text) <= _TITLE else text[: _TITLE - 1] + "…"


def _answer(
    model: int, entry: Entry, answer: Answer, scores: Sequence[Any], question: str, strings: _Strings
) -> list[Any]:
    before, found, after = prompt_text(answer.prompt).partition(question)
    prompt = [before, question, after] if found and question else [before]
    _, *after_marker = strict.candidates(answer.response)
    reasoning, code, clause = _explained(entry, answer)
    return [
        model,
        [strings.add(part) for part in prompt if part],
        [strings.add(answer.response[:reasoning]), strings.add(answer.response[reasoning:])],
        strings.add(_shortened("".join(after_marker))),
        "marker" if after_marker else "whole",
        strings.add(answer.extractions.get(FLEXIBLE, "")),
        code,
        strings.add(_shortened(clause)),
        *scores,
        [[verdict.judge, verdict.score, strings.add(verdict.reason)] for verdict in answer.verdicts],
    ]


# The maximum length of an extracted answer and of the clause that contains it. Long texts would enlarge the file.
_EXTRACTED = 300


def _shortened(text: str) -> str:
    return text if len(text) <= _EXTRACTED else "…" + text[1 - _EXTRACTED :]


def _explained(entry: Entry, answer: Answer) -> tuple[int, str, str]:
    """Return the length of the reasoning at the start of a response, and the code and clause of the extraction.

    For code and clause, see `scoring.extract.Extraction`. Both are empty if the current rules do not extract the logged
    answer, because another version wrote the log.
    """
    response, prefix = answer.response, continued(entry.log, answer.prompt)
    found = extract_from(answer.doc, response, prefix)
    visible = found.visible.removeprefix(prefix).strip()
    reasoning = max(0, response.rfind(visible)) if visible else len(response)
    if not response.strip() or found.answer != answer.extractions.get(FLEXIBLE):
        return reasoning, "", ""
    return reasoning, found.code, found.clause
