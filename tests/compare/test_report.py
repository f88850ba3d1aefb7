"""The report in real Chromium: it renders, filters and searches, asks no network, and runs nothing that data say."""

import json
import re
import shutil
from pathlib import Path

import pytest
from compared import MIDDLE, WEAK, log_file, results_file
from scripted import run

from mera_ru_tasks.comparison import remarks
from mera_ru_tasks.comparison.comparing import compare
from mera_ru_tasks.comparison.export import to_markdown
from mera_ru_tasks.report.page import build
from mera_ru_tasks.samples import STRICT

TEXTS = Path(remarks.__file__).with_suffix(".json")
DOCUMENT = {
    "instruction": "{question}", "inputs": {"question": "?"}, "outputs": "Снег", "meta": {"id": 1},
    "answer_format": {"letters": "", "most": 0, "unit": False},
}  # fmt: skip

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip

in_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: `apt-get install chromium`")

# Each sets window.ran in its own way, if it can.
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


# Not for the whole session: while Playwright runs, its event loop runs in this thread, and no test can start another.
@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as running:
        started = running.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        started.close()


class Opened:
    """A report in the browser, with what it asked for and complained of."""

    def __init__(self, browser, file, **settings):
        settings = {"locale": "en-US", "viewport": {"width": 1360, "height": 900}, **settings}
        self.context = browser.new_context(**settings)
        self.page = self.context.new_page()
        self.requests, self.complaints = [], []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.complaints.append(dialog.message), dialog.dismiss()))
        self.page.goto(Path(file).as_uri())
        self.page.wait_for_selector(".item")

    def count(self):
        return int(self.page.inner_text("#sample-count").split()[0])

    def filter(self, **chosen):
        for name, value in chosen.items():
            self.page.select_option(f"#sample-{name}", value=None if value is None else str(value))


@pytest.fixture(scope="session")
def report(results, tmp_path_factory):
    file = tmp_path_factory.mktemp("report") / "report.html"
    file.write_text(build(compare([results], baseline=WEAK)), encoding="utf-8")
    return file


@pytest.fixture
def opened(browser, report):
    shown = Opened(browser, report)
    yield shown
    assert shown.complaints == []
    assert shown.requests == [report.as_uri()]
    shown.context.close()


@in_browser
def test_the_board_shows_the_scores(opened, results):
    comparison = compare([results], baseline=WEAK)
    text = opened.page.inner_text("#board")
    for row in comparison.rows:
        if (row.metric, row.pipeline) == ("exact_match", STRICT):
            assert f"{row.score.value:.3f}" in text
    # Means are of the suite's three tasks; the best model stands first.
    assert opened.page.inner_text("#board tbody tr:first-child th").startswith("strong-7b")
    assert opened.page.locator("#interval-cards svg").count() == 2 * 5
    opened.page.select_option("#measure", label="f1, flexible-extract")
    assert opened.page.locator("#interval-cards figure").count() == 1


@in_browser
def test_breakdowns_follow_the_choices(opened):
    page = opened.page
    page.select_option("#part-task", "russian_regions_sample")
    assert page.locator("#part-cards figure").count() == 3
    page.select_option("#part-by", label="prompt, type 2")
    assert page.locator("#part-cards figure").count() == 5
    assert "p =" in page.inner_text("#legend")
    page.locator("#part-cards summary").first.click()
    assert "{option_a}" in page.inner_text("#part-cards pre >> nth=0")


@in_browser
def test_filters_and_search_find_what_they_say(opened, results):
    comparison = compare([results], baseline=WEAK)
    answers = {model: {} for model in comparison.models}
    for entry in comparison.entries:
        answers[entry.model] |= {(entry.task, key): answer for key, answer in entry.answers.items()}
    strict = ("exact_match", STRICT)
    right = {model: {key for key, a in found.items() if a.scores[strict]} for model, found in answers.items()}
    everything = set(answers[WEAK])
    assert opened.count() == len(everything) == 220
    opened.filter(model=0, outcome="right")
    assert opened.count() == len(right[WEAK])
    opened.filter(model="", outcome="disagree")
    assert opened.count() == sum(len({key in right[model] for model in answers}) > 1 for key in everything)
    opened.filter(outcome="unreadable", model=1)
    unread = {key for key, a in answers[comparison.models[1]].items() if not a.scores["answered", "flexible-extract"]}
    assert opened.count() == len(unread) > 0
    opened.filter(outcome="format", model="")
    assert opened.count() > 0
    opened.filter(outcome="any", task=0, type=3)
    assert opened.count() == 6
    opened.filter(task="", type="")
    entry = next(e for e in comparison.entries if e.task == "riddles_sample")
    question = next(iter(entry.answers.values())).doc["inputs"]["question"]
    opened.page.fill("#search", question[:25].upper())
    opened.page.get_by_text("1 of 220 documents").wait_for()
    assert opened.count() == 1
    opened.page.fill("#search", "(нет такого*[")
    opened.page.wait_for_selector(".item", state="detached")
    assert opened.count() == 0


@in_browser
def test_a_document_is_shown_whole_and_the_keyboard_reaches_it(opened, results):
    page = opened.page
    page.focus("#list")
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("End")
    assert page.locator(".item[aria-selected=true]").count() == 1
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    entry = compare([results], baseline=WEAK).entries[0]
    answer = min(entry.answers.values(), key=lambda a: a.doc["meta"]["id"])
    detail = page.inner_text("#detail")
    assert page.evaluate("document.activeElement.id") == "detail"
    for text in (
        answer.doc["outputs"],
        answer.response.strip(),
        answer.prompt.strip().split("\n")[0],
        "strict-match read",
    ):
        assert text in detail
    assert page.locator("#detail .answer").count() == 3
    # The list holds only what is in sight.
    assert page.locator(".item").count() < 40


@in_browser
@pytest.mark.parametrize("width", [1360, 390])
def test_both_languages_both_themes_and_a_phone(browser, report, width, tmp_path):
    shown = Opened(browser, report, locale="ru-RU", viewport={"width": width, "height": 844}, color_scheme="dark")
    page = shown.page
    assert page.inner_text("#leaderboard h2") == "Таблица"
    assert page.evaluate("document.documentElement.lang") == "ru"
    assert "0," in page.inner_text("#board")
    page.click("#language")
    assert page.inner_text("#leaderboard h2") == "Leaderboard"
    background = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(background)
    page.click("#theme")
    assert page.evaluate(background) != dark
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.locator(".item").first.click()
    assert page.locator("#detail").is_visible()
    assert page.locator("#list").is_visible() == (width > 760)
    if width <= 760:
        page.click("#back")
        assert page.locator("#list").is_visible()
    page.emulate_media(media="print")
    assert not page.locator("#filters").is_visible()
    assert page.locator("#board").is_visible()
    assert shown.complaints == []
    shown.context.close()


@in_browser
def test_remarks_are_in_the_pages_language_and_name_no_folder(browser, results, tmp_path):
    folder = shutil.copytree(results, tmp_path / "results")
    run(folder, ["riddles_sample"], model=f"{tmp_path}/models/other", num_fewshot=2)
    log = log_file(folder, MIDDLE, "riddles_sample")
    log.write_bytes(log.read_bytes()[:-300])
    results_file(folder, "/models/local/strong-7b").unlink()
    file = tmp_path / "report.html"
    comparison = compare([folder], baseline=WEAK)
    file.write_text(build(comparison), encoding="utf-8")
    for text in (file.read_text(encoding="utf-8"), to_markdown(comparison)):
        assert str(tmp_path) not in text
        assert "/models/local" not in text
    assert str(tmp_path) in str(comparison.choices[0]), "the terminal names the folder"
    shown = Opened(browser, file, locale="ru-RU")
    russian = {place: shown.page.inner_text(place) for place in ("#board-notes", "#choices", "#problems")}
    shown.page.click("#language")
    english = {place: shown.page.inner_text(place) for place in russian}
    shown.context.close()
    assert "число примеров: 2 против 0" in russian["#board-notes"]
    assert "the number of shots: 2 against 0" in english["#board-notes"]
    assert "org/weak-160m, прогон 20" in russian["#choices"]
    for place, text in russian.items():
        words = re.sub(r"`.*?`|--\w+|[\w./-]*(_|\d)[\w./-]*|JSON|org/\w+|other", "", text)
        assert not re.findall(r"[A-Za-z]{3,}", words), place
        assert len(english[place].splitlines()) == len(text.splitlines())
        assert not re.findall("[а-яё]", english[place])


@pytest.mark.parametrize("key", json.loads(TEXTS.read_text(encoding="utf-8")))
def test_each_remark_has_both_languages_with_the_same_gaps(key):
    texts = json.loads(TEXTS.read_text(encoding="utf-8"))[key]
    gaps = {language: set(re.findall(r"\{(\w+)\}", text)) for language, text in texts.items()}
    assert gaps.keys() == {"en", "ru"}
    # What Python or a library said of a fault is English alone; the line and file are named instead.
    assert gaps["en"] - {"fault", "error"} <= gaps["ru"]
    assert gaps["ru"] <= gaps["en"] | {"file", "line"}


@pytest.mark.parametrize(
    ("names", "labels"),
    [
        (["org/x", "org/y"], ["org/x", "org/y"]),
        (["/home/me/models/x", "./y/"], ["x", "y"]),
        (["/a/x", "/b/x", "z/x"], ["a/x", "b/x", "z/x"]),
        (["/a/x", "a/x"], ["/a/x", "a/x"]),
        (["C:\\models\\x"], ["x"]),
        (["__root__.cache__x"], ["x"]),
    ],
)
def test_labels_show_as_little_of_a_path_as_tells_models_apart(names, labels, tmp_path):
    for number, name in enumerate(names):
        folder = tmp_path / f"run{number}"
        folder.mkdir()
        row = {"doc_id": 0, "doc_hash": "d", "prompt_hash": "p", "filter": STRICT, "metrics": ["exact_match"]}
        row |= {"doc": DOCUMENT, "arguments": {"gen_args_0": {"arg_0": "?", "arg_1": {}}}, "exact_match": 1}
        row |= {"resps": [["Ответ: снег"]], "filtered_resps": ["Ответ: снег"]}
        date = f"2026-01-01T00-00-0{number}"
        (folder / f"samples_riddles_sample_{date}.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
        (folder / f"results_{date}.json").write_text(json.dumps({"model_name": name}), encoding="utf-8")
    assert compare([tmp_path]).models == labels


def with_injections(folder):
    """Put an injection into every text that a run brings: inputs, prompts, responses, names, and reasons."""
    for model in (WEAK, MIDDLE):
        log = log_file(folder, model, "riddles_open_sample")
        rows = [poisoned(json.loads(line)) for line in log.read_text(encoding="utf-8").split("\n") if line]
        log.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        content = json.loads(results_file(folder, model).read_text(encoding="utf-8"))
        content["model_name"] += f"</script><script>{RAN}</script>"
        results_file(folder, model).write_text(json.dumps(content), encoding="utf-8")
        verdict = {"filter": STRICT, "scores": {"judge_score": 1.0}}
        lines = [{"doc_id": n, "id": n + 1, "reason": text, **verdict} for n, text in enumerate(INJECTIONS)]
        judged = f"judged_<img src=x onerror={RAN}>_{log.name.removeprefix('samples_')}"
        log.with_name(judged).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def poisoned(row):
    text = INJECTIONS[row["doc_id"]]
    row["doc"] |= {"instruction": text + "{question}", "inputs": {"question": text}, "outputs": text}
    row["arguments"]["gen_args_0"]["arg_0"] = text
    return {**row, "resps": [[text]], "filtered_resps": [text]}


def comparable(text):
    """A text without what is no character: HTML shows NUL and half characters as a sign of their own."""
    return "".join(character for character in text if character not in "\x00\ud800\ufffd")


@in_browser
def test_forty_injections_run_nothing_and_are_shown_as_text(browser, results, tmp_path):
    folder = shutil.copytree(results, tmp_path / "results")
    with_injections(folder)
    assert len(INJECTIONS) == 40
    file = tmp_path / "report.html"
    file.write_text(build(compare([folder])), encoding="utf-8")
    shown = Opened(browser, file)
    page = shown.page
    tags = "document.querySelectorAll('img, iframe, object, embed, base, form, video, audio, link, template').length"
    before = page.evaluate(tags)
    place = compare([folder]).tasks.index("riddles_open_sample")
    shown.filter(task=place)
    assert shown.count() == 40
    page.focus("#list")
    for text in INJECTIONS:
        page.keyboard.press("ArrowDown")
        assert comparable(text) in comparable(page.evaluate("document.getElementById('detail').textContent"))
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
    text = build(compare([folder]))
    assert text.count("<script") == 3
    assert RAN not in text.replace("\\u003cscript\\u003e" + RAN, "").replace("onerror=" + RAN, "")
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")


def test_each_text_stands_once(results):
    text = build(compare([results]))
    two = build(compare([results, results]))
    assert len(text) == len(two)
