"""The report in Chromium: it renders, filters, searches and sends no request."""

import shutil

import pytest

from mera_ru_tasks.compare.compare import compare_runs
from mera_ru_tasks.compare.html import build
from mera_ru_tasks.compare.notes import RUSSIAN, sentence
from mera_ru_tasks.scoring.metrics import FLEXIBLE, STRICT
from tests.support.browser import Opened, in_browser
from tests.support.comparisons import MIDDLE, WEAK
from tests.support.scripted import reference, run


@pytest.fixture(scope="session")
def report(results, tmp_path_factory):
    file = tmp_path_factory.mktemp("report") / "report.html"
    file.write_text(build(compare_runs([results], baseline=WEAK)), encoding="utf-8")
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
    comparison = compare_runs([results], baseline=WEAK)
    text = opened.page.inner_text("#board")
    for row in comparison.rows:
        if (row.metric, row.filter) == ("exact_match", STRICT):
            assert f"{row.score.value:.3f}" in text
    # Means cover the three tasks of the group. The best model comes first.
    assert opened.page.inner_text("#board tbody tr:first-child th").startswith("strong-7b")
    assert opened.page.locator("#interval-cards svg").count() == 2 * 5
    opened.page.select_option("#measure", label="f1, flexible-extract")
    assert opened.page.locator("#interval-cards figure").count() == 1


@in_browser
def test_what_is_of_other_settings_or_tasks_stands_below(browser, results, tmp_path):
    folder = shutil.copytree(results, tmp_path / "results")
    run(folder, ["mera_ru_sample"], reference, model="org/with-shots", num_fewshot=2)
    run(folder, ["riddles_sample"], reference, model="org/one-task")
    run(folder, ["mera_ru_sample_prefill"], lambda doc, prompt: reference(doc)[7:], model="org/prefilled")
    file = tmp_path / "report.html"
    file.write_text(build(compare_runs([folder], baseline=WEAK)), encoding="utf-8")
    shown = Opened(browser, file)
    names = shown.page.locator("#board tbody th").all_inner_texts()
    shown.context.close()
    assert [name.removesuffix("baseline").strip() for name in names] == [
        "strong-7b", MIDDLE, WEAK, "org/with-shots", "org/prefilled", "org/one-task",
    ]  # fmt: skip


@in_browser
def test_breakdowns_follow_the_choices(opened):
    page = opened.page
    page.select_option("#part-task", "russian_regions_sample")
    assert page.locator("#part-cards figure").count() == 3
    page.select_option("#part-by", label="prompt, type 2")
    assert page.locator("#part-cards figure").count() == 5
    assert "p =" in page.inner_text("#spread")
    page.locator("#part-cards summary").first.click()
    assert "{option_a}" in page.inner_text("#part-cards pre >> nth=0")


@in_browser
def test_filters_and_search_find_what_they_say(opened, results):
    comparison = compare_runs([results], baseline=WEAK)

    def documents(measure, outcome):
        found = {model: set() for model in comparison.models}
        for entry in comparison.entries:
            keys = {key for key, score in entry.scores[measure].items() if score == outcome}
            found[entry.model] |= {(entry.task, key) for key in keys}
        return found

    right, wrong = (documents(("exact_match", STRICT), outcome) for outcome in (1, 0))
    everything = right[WEAK] | wrong[WEAK]
    assert opened.count() == len(everything) == 220
    opened.filter(a=WEAK, outcome="right")
    assert opened.count() == len(right[WEAK])
    opened.filter(a="", outcome="disagree")
    assert opened.count() == sum(len({key in found for found in right.values()}) > 1 for key in everything)
    opened.filter(outcome="unreadable", a=comparison.models[1])
    assert opened.count() == len(documents(("answered", FLEXIBLE), 0)[comparison.models[1]]) > 0
    opened.filter(outcome="format", a="")
    assert opened.count() > 0
    opened.filter(outcome="any", task=comparison.tasks[0], type=3)
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
    entry = compare_runs([results], baseline=WEAK).entries[0]
    answer = min(entry.answers.values(), key=lambda a: a.doc["meta"]["id"])
    detail = page.inner_text("#detail")
    assert page.evaluate("document.activeElement.id") == "detail"
    for text in (
        answer.doc["outputs"],
        answer.response.strip(),
        answer.prompt.strip().split("\n")[0],
        "strict-match",
    ):
        assert text in detail
    assert page.locator("#detail .answer").count() == 3
    # The list contains only visible items.
    assert page.locator(".item").count() < 40


@in_browser
@pytest.mark.parametrize("width", [1360, 390])
def test_both_languages_both_themes_and_a_phone(browser, report, width, tmp_path):
    shown = Opened(browser, report, locale="ru-RU", viewport={"width": width, "height": 844}, color_scheme="dark")
    page = shown.page
    assert page.inner_text("#leaderboard .head h2") == "Таблица лидеров"
    assert page.evaluate("document.documentElement.lang") == "ru"
    assert "0," in page.inner_text("#board")
    page.click("#language")
    assert page.inner_text("#leaderboard .head h2") == "Leaderboard"
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


def test_each_text_stands_once(results):
    text = build(compare_runs([results]))
    two = build(compare_runs([results, results]))
    assert len(text) == len(two)


@in_browser
def test_the_verdict_comes_first_in_the_pages_language_with_groups(browser, results, tmp_path):
    board = tmp_path / "board.csv"
    board.write_text("model,task,metric,score,n\ngpt,riddles_sample,exact_match,0.02,60\n", encoding="utf-8")
    comparison = compare_runs([results], published=[board])
    file = tmp_path / "report.html"
    file.write_text(build(comparison), encoding="utf-8")
    sentences = [one for verdict in comparison.verdicts for one in verdict.sentences]
    assert sentences
    shown = Opened(browser, file, locale="ru-RU")
    russian = shown.page.inner_text("#verdicts")
    shown.page.click("#language")
    english = shown.page.inner_text("#verdicts")
    groups = shown.page.locator("#board sup").all_inner_texts()
    complaints = shown.complaints
    shown.context.close()
    assert complaints == []
    for one in sentences:
        assert sentence(one) in english
        assert sentence(one, RUSSIAN) in russian
    assert {group.strip() for group in groups} >= {"a", "b", "c"}
