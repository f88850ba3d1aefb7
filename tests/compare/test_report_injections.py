"""The report runs no text from data, names or verdicts, and shows all of it as text."""

import json
import re
import shutil

from mera_ru_tasks.compare.compare import compare_runs
from mera_ru_tasks.compare.html import build
from mera_ru_tasks.scoring.metrics import STRICT
from tests.support.browser import Opened, in_browser
from tests.support.comparisons import MIDDLE, STRONG, WEAK, log_file, results_file
from tests.support.restate import rehash, restate, restate_scores

# Each injection tries a different way to set window.ran.
RAN = "window.ran=1"
INJECTIONS = [
    f"<script>{RAN}</script>",
    f"</script><script>{RAN}</script>",
    f"</SCRIPT ><script>{RAN}</script>",
    f"<!--<script>{RAN}</script>-->",
    f"--><script>{RAN}</script>",
    f"]]><script>{RAN}</script>",
    f"<img src=x onerror={RAN}>",
    f'"><img src=x onerror="{RAN}">',
    f"'><img src=x onerror='{RAN}'>",
    f"<svg onload={RAN}>",
    f"<svg><script>{RAN}</script></svg>",
    f"<svg><animate onbegin={RAN} attributeName=x dur=1s>",
    f"<body onload={RAN}>",
    f"<iframe srcdoc='<script>parent.{RAN[7:]}</script>'></iframe>",
    '<iframe src="javascript:parent.ran=1"></iframe>',
    f'<a href="javascript:{RAN}" autofocus onfocus={RAN}>x</a>',
    f"<input autofocus onfocus={RAN}>",
    f"<details open ontoggle={RAN}><summary>x</summary></details>",
    f"<video><source onerror={RAN}></video>",
    f"<audio src=x onerror={RAN}>",
    f'<object data="javascript:{RAN}"></object>',
    f'<embed src="javascript:{RAN}">',
    f"<math><mtext></form><form><mglyph><style></math><img src=x onerror={RAN}>",
    f"<template><script>{RAN}</script></template>",
    "<style>@import 'http://127.0.0.1:9/x.css';</style>",
    "<link rel=stylesheet href=http://127.0.0.1:9/x.css>",
    f'<meta http-equiv=refresh content="0;url=javascript:{RAN}">',
    "<base href=http://127.0.0.1:9/>",
    "<form action=http://127.0.0.1:9/><button autofocus>x</button></form>",
    f"{{{{constructor.constructor('{RAN}')()}}}}",
    f"${{{RAN}}}",
    f"`;{RAN};`",
    f'";{RAN};//',
    f"';{RAN};//",
    f"\\u003cscript\\u003e{RAN}\\u003c/script\\u003e",
    f"&lt;script&gt;{RAN}&lt;/script&gt;&#60;script&#62;",
    f"\u2028{RAN}\u2029</script>",
    f"\x00<script>\x00{RAN}</script>",
    f"javascript:{RAN}//%0a{RAN}",
    f"<style>*{{background:url(http://127.0.0.1:9/x)}}</style>\ud800</style></title></textarea><script>{RAN}</script>",
]


def with_injections(folder):
    """Put an injection into every text that a run contributes: inputs, prompts, responses, names and reasons."""
    for model in (WEAK, MIDDLE, STRONG):
        log = log_file(folder, model, "riddles_open_sample")
        rows = [poisoned(json.loads(line)) for line in log.read_text(encoding="utf-8").split("\n") if line]
        log.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        content = json.loads(results_file(folder, model).read_text(encoding="utf-8"))
        content["versions"]["riddles_open_sample"] = 0.5  # whose scores this version cannot check
        content["model_name"] += f"</script><script>{RAN}</script>"
        results_file(folder, model).write_text(json.dumps(content), encoding="utf-8")
        verdict = {"filter": STRICT, "scores": {"judge_score": 1.0}}
        lines = [{"doc_id": n, "id": n + 1, "reason": text, **verdict} for n, text in enumerate(INJECTIONS)]
        judged = log.with_name(f"judged_<img src=x onerror={RAN}>_{log.name.removeprefix('samples_')}")
        judged.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        restate(log.parent)
        restate_scores(judged, "riddles_open_sample")


def poisoned(row):
    text = INJECTIONS[row["doc_id"]]
    row["doc"] |= {"instruction": text + "{question}", "inputs": {"question": text}, "outputs": text}
    row["arguments"]["gen_args_0"]["arg_0"] = text
    return rehash({**row, "resps": [[text]], "filtered_resps": [text]})


def comparable(text):
    """Return a text as HTML shows it: NUL and lone surrogates become the replacement character."""
    return "".join(character for character in text if character not in "\x00\ud800\ufffd")


@in_browser
def test_forty_injections_run_nothing_and_are_shown_as_text(browser, results, tmp_path):
    folder = shutil.copytree(results, tmp_path / "results")
    with_injections(folder)
    assert len(INJECTIONS) == 40
    file = tmp_path / "report.html"
    file.write_text(build(compare_runs([folder])), encoding="utf-8")
    shown = Opened(browser, file)
    page = shown.page
    tags = "document.querySelectorAll('img, iframe, object, embed, base, form, video, audio, link, template').length"
    before = page.evaluate(tags)
    shown.filter(task="riddles_open_sample")
    assert shown.count() == 40
    page.focus("#list")
    page.keyboard.press("Home")
    for text in INJECTIONS:
        assert comparable(text) in comparable(page.evaluate("document.getElementById('detail').textContent"))
        page.keyboard.press("ArrowDown")
    page.fill("#search", "script")
    page.locator("mark.hit").first.wait_for()
    page.select_option("#measure", index=1)
    page.click("#language")
    page.evaluate("document.getElementById('all-numbers').open = true")
    assert page.evaluate("window.ran") is None
    assert page.evaluate(tags) == before
    assert page.evaluate("document.scripts.length") == 3
    names = page.evaluate("[...document.querySelectorAll('*')].flatMap(element => element.getAttributeNames())")
    assert [name for name in names if name.startswith("on")] == []
    assert shown.complaints == []
    assert shown.requests == [file.as_uri()]
    shown.context.close()


def test_the_file_holds_no_markup_of_the_data(results, tmp_path):
    folder = shutil.copytree(results, tmp_path / "results")
    with_injections(folder)
    text = build(compare_runs([folder]))
    assert text.count("<script") == 3
    clean = build(compare_runs([results]))
    assert re.findall(r"<[a-z/!][^\s>]*", text, re.I) == re.findall(r"<[a-z/!][^\s>]*", clean, re.I)
    assert "http://" not in clean.replace("http://www.w3.org/2000/svg", "")
