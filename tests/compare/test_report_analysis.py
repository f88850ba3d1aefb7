"""Error analysis with the report in Chromium: pairs, links, reading, numbers, phones and accessibility."""

import random
from urllib.parse import unquote_plus

import pytest

from mera_ru_tasks.compare.compare import compare_runs
from mera_ru_tasks.compare.html import build
from mera_ru_tasks.compare.html.plots import figures, rankings
from mera_ru_tasks.compare.notes import RUSSIAN, sentence
from mera_ru_tasks.scoring.metrics import FLEXIBLE, STRICT
from tests.support.browser import Opened, in_browser
from tests.support.comparisons import SAMPLE_TASKS
from tests.support.scripted import reference, run

BEST, MIDDLE, WORST = "org/thinks", "org/explains", "org/guesses"
STRICT_MATCH = ("exact_match", STRICT)
WIDE, PHONE = 1400, 390


def answering(skill, explain):
    def answer(doc, prompt):
        key = f"{doc['instruction']} {sorted(doc['inputs'].items())}"
        luck = random.Random(key).random() * 0.5 + random.Random(key + str(skill)).random() * 0.5
        if luck > 0.85:
            return f"{explain}Ответ: А. Хотя нет, я передумал."
        if luck < skill and int(luck * 1000) % 5 == 0:
            return f"{explain}**ОТВЕТ: {reference(doc)[7:]}**"  # which only flexible-extract extracts
        wrong = "А" if doc["answer_format"]["choices"] else "пень"
        return f"{explain}{reference(doc) if luck < skill else 'Ответ: ' + wrong}"

    return answer


@pytest.fixture(scope="module")
def comparison(tmp_path_factory):
    folder = tmp_path_factory.mktemp("analysis") / "results"
    run(folder, SAMPLE_TASKS, answering(0.35, ""), model=WORST)
    run(folder, SAMPLE_TASKS, answering(0.5, "Ёлка растёт зимой и летом одним цветом.\n\n"), model=MIDDLE)
    thought = (
        "<think>Тайная мысль. " + "Проверю ещё раз. " * 40 + "</think>\n\nЁлка растёт летом и зимой одним цветом.\n\n"
    )
    run(folder, SAMPLE_TASKS, answering(0.65, thought), model=BEST)
    return compare_runs([folder])


@pytest.fixture(scope="module")
def report(comparison, tmp_path_factory):
    file = tmp_path_factory.mktemp("analysis") / "report.html"
    file.write_text(build(comparison), encoding="utf-8")
    return file


@pytest.fixture
def open_report(browser, report):
    """Open the report at a fragment of its address, with settings of the browser."""
    opened = []

    def open_at(address="", **settings):
        shown = Opened(browser, report, address, **{"viewport": {"width": WIDE, "height": 900}, **settings})
        opened.append(shown)
        return shown

    yield open_at
    for shown in opened:
        assert shown.complaints == []
        assert {request.split("#")[0] for request in shown.requests} == {report.as_uri()}
        shown.context.close()


def right(comparison, model, filter_name=STRICT):
    """Return the documents that a model answers correctly, as pairs of task and id."""
    return {
        f"{entry.task}/{answer.doc['meta']['id']}"
        for entry in comparison.entries
        for key, answer in entry.answers.items()
        if entry.model == model and entry.scores[("exact_match", filter_name)][key]
    }


def documents(comparison):
    return {f"{entry.task}/{a.doc['meta']['id']}" for entry in comparison.entries for a in entry.answers.values()}


def dots(page, selector):
    return [text.removesuffix("baseline").strip() for text in page.locator(selector).all_text_contents()]


# First screen


@in_browser
@pytest.mark.parametrize("width", [WIDE, PHONE])
@pytest.mark.parametrize("locale", ["en-US", "ru-RU"])
def test_the_verdict_and_the_best_model_are_on_the_first_screen(open_report, comparison, width, locale):
    page = open_report(locale=locale, viewport={"width": width, "height": 900}).page
    best = rankings(comparison)[STRICT_MATCH][0]
    language = {"language": RUSSIAN} if locale == "ru-RU" else {}
    first = next(iter(comparison.verdicts[0].sentences))
    assert best in sentence(first)
    assert page.inner_text("#verdicts li >> nth=0") == sentence(first, **language)
    row = page.locator("#board tbody tr").first
    assert best in row.inner_text()
    assert row.bounding_box()["y"] < 900


@in_browser
def test_every_list_of_models_has_the_order_of_the_leaderboard(open_report, comparison):
    shown = open_report()
    page = shown.page

    def orders():
        yield dots(page, "#board tbody th")
        yield dots(page, "#models > span")
        yield dots(page, "#sample-a option")[1:]
        yield dots(page, "#pair-b option")
        yield dots(page, "#interval-cards figure:first-child svg:first-of-type g text:first-of-type")
        yield dots(page, "#part-cards figure:first-child svg g text:first-of-type")
        yield dots(page, "#gap-cards figure:first-child svg g text:first-of-type")
        marks = page.locator(".item >> nth=0").locator(".mark").evaluate_all("all => all.map(one => one.title)")
        yield [mark.split(":")[0] for mark in marks]

    assert list(orders()) == [[BEST, MIDDLE, WORST]] * 8
    page.select_option("#measure", label="answered, flexible-extract")
    expected = rankings(comparison)["answered", FLEXIBLE]
    assert expected != [BEST, MIDDLE, WORST]
    assert list(orders()) == [expected] * 8
    head = page.locator("#board thead th", has_text="russian_regions_sample")
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    rows = [row for row in comparison.rows if (row.task, row.metric) == ("russian_regions_sample", "answered")]
    found = list(orders())
    assert all(one == found[0] for one in found)
    values = {row.model: row.score.value for row in rows}
    assert [values[model] for model in found[0]] == sorted(values.values(), reverse=True)


@in_browser
def test_language_theme_and_metric_are_remembered_and_a_link_wins_over_memory(open_report, report):
    shown = open_report(locale="ru-RU")
    page = shown.page
    page.click("#language")
    page.click("#theme")
    page.select_option("#measure", label="exact_match, flexible-extract")
    page.goto("about:blank")
    page.goto(report.as_uri())
    page.wait_for_selector(".item")
    assert page.evaluate("document.documentElement.lang") == "en"
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    assert page.locator("#measure").input_value() == "exact_match, flexible-extract"
    page.goto("about:blank")
    page.goto(report.as_uri() + "#language=ru&measure=f1%2C+flexible-extract")
    page.wait_for_selector(".item")
    assert page.evaluate("document.documentElement.lang") == "ru"
    assert page.locator("#measure").input_value() == "f1, flexible-extract"
    shown.requests[:] = [request for request in shown.requests if request != "about:blank"]


@in_browser
@pytest.mark.parametrize("memory", ["null", "[]", "7", '{"language": "xx", "theme": 1, "measure": "<b>"}', "{"])
def test_a_broken_memory_or_address_changes_nothing(open_report, memory):
    address = (
        "#language=xx&measure=none&a=nobody&outcome=toString&task=%00&type=x&doc=no/1&partTask=%3Cb%3E&sort=x&%E0%A4%A"
    )
    shown = open_report(address, before=f"localStorage.setItem('mera-ru-report', {memory!r})")
    assert shown.count() == 220
    assert dots(shown.page, "#board tbody th") == [BEST, MIDDLE, WORST]


@in_browser
def test_switching_language_theme_and_metric_keeps_what_is_open(open_report):
    page = open_report(f"#a={BEST}&b={WORST}&outcome=pair").page
    page.locator(".item >> nth=3").click()
    page.locator("#detail summary", has_text="Reasoning").first.click()
    page.locator("#all-numbers summary").click()
    title, address = page.inner_text("#detail h3"), page.url
    for switch in ("#language", "#theme"):
        page.click(switch)
        assert page.locator("#detail details[open]").count() == 1
        assert page.locator("#all-numbers[open]").count() == 1
        assert page.locator(".item[aria-selected=true]").count() == 1
    page.click("#language")
    assert page.inner_text("#detail h3") == title
    assert page.url == address
    page.select_option("#measure", label="answered, flexible-extract")
    assert page.inner_text("#detail h3") == title


@in_browser
def test_the_verdict_says_that_the_metric_below_does_not_change_it(open_report):
    page = open_report().page
    verdict = page.inner_text("#verdicts")
    page.select_option("#measure", label="f1, flexible-extract")
    assert page.inner_text("#verdicts") == verdict
    assert "does not change" in page.inner_text("#verdicts .hint")


@in_browser
@pytest.mark.parametrize("width, place", [(WIDE, "#board thead th"), (PHONE, "#board tbody tr:first-child td")])
def test_a_task_outside_the_mean_says_so(open_report, width, place):
    page = open_report(viewport={"width": width, "height": 900}).page
    outside = page.locator(place, has_text="not in the mean")
    assert outside.count() == 1
    assert "riddles_open_sample" in outside.inner_text()
    page.select_option("#measure", label="answered, flexible-extract")
    assert page.get_by_text("not in the mean").count() == 0


# Pairs


@in_browser
@pytest.mark.parametrize("one, other", [(BEST, WORST), (WORST, BEST), (MIDDLE, BEST)])
def test_a_right_b_wrong_shows_these_documents(open_report, comparison, one, other):
    shown = open_report()
    shown.filter(a=one, b=other, outcome="pair")
    assert shown.count() == len(right(comparison, one) - right(comparison, other)) > 0
    page = shown.page
    names = page.locator(".sides .answer-head b").all_inner_texts()
    assert names == [one, other]
    assert page.locator(".sides .state").all_inner_texts()[0].startswith("right")


@in_browser
def test_a_pair_without_models_takes_the_two_best(open_report, comparison):
    shown = open_report()
    shown.filter(outcome="pair")
    assert shown.count() == len(right(comparison, BEST) - right(comparison, MIDDLE))


@in_browser
def test_the_numbers_of_the_pairs_lead_to_their_documents(open_report, comparison):
    shown = open_report()
    page = shown.page
    page.select_option("#pair-a", MIDDLE)
    page.select_option("#pair-b", WORST)
    line = page.locator("#pair-table tbody tr", has_text="riddles_open_sample")
    wanted = {key for key in right(comparison, WORST) - right(comparison, MIDDLE) if key.startswith("riddles_open")}
    link = line.locator("button").last
    assert int(link.inner_text()) == len(wanted)
    link.click()
    assert shown.count() == len(wanted)
    assert page.locator(".sides .answer-head b").all_inner_texts() == [WORST, MIDDLE]
    assert page.locator(".browser").bounding_box()["y"] < 900


@in_browser
def test_models_disagree_follows_the_chosen_models(open_report, comparison):
    shown = open_report()
    every = documents(comparison)
    by_model = {model: right(comparison, model) for model in (BEST, MIDDLE, WORST)}
    shown.filter(outcome="disagree")
    assert shown.count() == sum(len({key in found for found in by_model.values()}) > 1 for key in every)
    shown.filter(a=BEST)
    best = by_model[BEST]
    assert shown.count() == sum(any((key in best) != (key in by_model[o]) for o in (MIDDLE, WORST)) for key in every)
    shown.filter(b=MIDDLE)
    assert shown.count() == len(best ^ by_model[MIDDLE])


@in_browser
def test_right_and_wrong_follow_the_filter_of_the_metric(open_report, comparison):
    shown = open_report()
    shown.filter(a=MIDDLE, outcome="right")
    strict = shown.count()
    shown.page.select_option("#measure", label="exact_match, flexible-extract")
    assert strict < shown.count()
    assert (strict, shown.count()) == (len(right(comparison, MIDDLE)), len(right(comparison, MIDDLE, FLEXIBLE)))


@in_browser
def test_differences_between_two_responses_are_marked(open_report):
    page = open_report(f"#a={BEST}&b={MIDDLE}").page
    marks = [
        page.locator(f".sides .answer >> nth={side}").locator(".response mark.differs").all_inner_texts()
        for side in (0, 1)
    ]
    assert marks[0] != marks[1]
    assert "растёт" not in " ".join(marks[0] + marks[1])
    words = {word for side in marks for mark in side for word in mark.split()}
    assert words & {"летом", "зимой"}


@in_browser
def test_each_filter_says_what_it_read_and_why(open_report, comparison):
    page = open_report("#q").page
    retracted = next(
        (entry.task, answer.doc["meta"]["id"])
        for entry in comparison.entries
        for answer in entry.answers.values()
        if entry.model == BEST and "передумал" in answer.response
    )
    page.goto(page.url.split("#")[0] + f"#language=en&a={BEST}&doc={retracted[0]}/{retracted[1]}")
    page.wait_for_function("document.querySelector('#detail h3')?.textContent.includes(' · ')")
    facts = page.locator(".sides .answer >> nth=0").locator("dl").inner_text()
    assert "А. Хотя нет, я передумал." in facts
    assert "the answer is" in facts


@in_browser
def test_the_weakest_types_of_the_best_model_lead_to_their_wrong_answers(open_report, comparison):
    shown = open_report()
    found = [s for s in comparison.slices if (s.by, s.filter, s.model) == ("type", STRICT, BEST)]
    lowest = min(found, key=lambda part: part.score.value)
    link = shown.page.locator("#weakest button").first
    assert f"{lowest.score.value:.3f}" in link.inner_text()
    assert lowest.task in link.inner_text()
    assert f"documents: {lowest.score.n}" in link.inner_text()
    link.click()
    assert shown.count() == round(lowest.score.n * (1 - lowest.score.value))


# Links


@in_browser
def test_the_address_holds_the_view_and_history_goes_back_and_forward(open_report):
    shown = open_report()
    page = shown.page
    shown.filter(task="riddles_sample")
    shown.filter(a=BEST, outcome="right")
    page.locator(".item >> nth=2").click()
    page.click("#language")
    page.select_option("#measure", label="answered, flexible-extract")
    address = unquote_plus(page.url.split("#")[1])
    for part in (
        "task=riddles_sample",
        f"a={BEST}",
        "outcome=right",
        "doc=riddles_sample/",
        "language=ru",
        "measure=answered, flexible-extract",
    ):
        assert part in address
    view = "['#detail h3', '#sample-count', '#measure'].map(byCss).map(one => one.value || one.textContent).join()"
    view = f"(byCss => {view})(one => document.querySelector(one))"
    before = page.evaluate(view)
    other = open_report("#" + page.url.split("#")[1])
    assert other.page.evaluate(view) == before
    for _ in range(3):
        page.go_back()
    assert page.evaluate("document.documentElement.lang") == "en"
    assert "doc=" not in page.url
    page.go_forward()
    assert page.locator("#detail h3").inner_text() in before
    for _ in range(2):
        page.go_forward()
    assert page.evaluate(view) == before


@in_browser
@pytest.mark.parametrize("width", [WIDE, PHONE])
def test_the_copied_link_opens_the_same_document_and_view(open_report, browser, report, width):
    size = {"viewport": {"width": width, "height": 900}}
    shown = open_report(permissions=["clipboard-read", "clipboard-write"], **size)
    page = shown.page
    page.fill("#search", "кто")
    page.keyboard.press("Enter")
    page.locator(".item >> nth=1").click()
    title, count = page.inner_text("#detail h3"), page.inner_text("#sample-count")
    page.locator("#detail .tools button", has_text="Copy link").click()
    link = page.evaluate("navigator.clipboard.readText()")
    other = open_report("#" + link.split("#")[1], **size)
    assert other.page.inner_text("#detail h3") == title
    assert other.page.inner_text("#sample-count") == count
    assert other.page.locator("#detail").bounding_box()["y"] < 900


@in_browser
def test_prompt_and_response_are_copied_whole(open_report, comparison):
    page = open_report("#doc=riddles_sample/3", permissions=["clipboard-read", "clipboard-write"]).page
    entry = next(e for e in comparison.entries if (e.task, e.model) == ("riddles_sample", BEST))
    answer = next(a for a in entry.answers.values() if a.doc["meta"]["id"] == 3)
    page.locator("#detail button", has_text="Copy prompt").click()
    assert page.evaluate("navigator.clipboard.readText()") == answer.prompt
    head = page.locator("section.answer", has=page.locator("b", has_text=BEST))
    head.locator(".heading button").click()
    assert page.evaluate("navigator.clipboard.readText()") == answer.response


@in_browser
def test_copying_works_where_the_clipboard_is_closed(open_report):
    page = open_report().page
    page.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    page.locator("#detail .tools button", has_text="Copy link").click()
    page.locator("#detail .tools button", has_text="Copied").wait_for()
    page.focus("#search")
    page.keyboard.press("Control+V")
    assert "#language=en" in page.input_value("#search")


# Reading


@in_browser
@pytest.mark.parametrize("width", [WIDE, PHONE])
def test_the_first_disagreement_opens_by_itself_with_its_answer_in_sight(open_report, comparison, width):
    agreed = set(documents(comparison))
    for model in (MIDDLE, WORST):
        agreed -= right(comparison, BEST) ^ right(comparison, model)
    for task in comparison.tasks:
        keys = sorted(
            (key for key in documents(comparison) if key.startswith(f"{task}/")),
            key=lambda key: int(key.rpartition("/")[2]),
        )
        if keys[0] in agreed:
            break
    page = open_report(f"#task={task}", viewport={"width": width, "height": 900}).page
    item = page.locator(".item[aria-selected=true]")
    first = next(key for key in keys if key not in agreed)
    assert item.inner_text().startswith(first.replace("/", " · "))
    assert page.locator("#detail").is_visible() == (width == WIDE)
    item.click()
    assert page.locator("#detail h3").is_visible()
    reasoning = page.locator("#detail details", has_text="Reasoning").first
    assert reasoning.get_attribute("open") is None
    assert "Тайная мысль" not in page.inner_text("#detail")
    response = page.locator("section.answer", has=page.locator("b", has_text=BEST)).locator(".response")
    answer = response.locator("mark.clause")
    box, line = response.bounding_box(), answer.bounding_box()
    assert box["y"] <= line["y"] <= box["y"] + box["height"]


@in_browser
def test_another_model_opens_with_its_answer_in_sight(open_report):
    page = open_report(f"#a={BEST}&b={WORST}").page
    section = page.locator("#detail details[data-key^=other]")
    box = section.locator(".response")
    box.evaluate("one => { one.style.maxHeight = '30px'; }")
    section.locator("summary").first.click()
    page.wait_for_function("one => one.scrollTop > 0", arg=box.element_handle())


@in_browser
def test_search_ignores_case_yo_and_word_order_and_can_be_limited_to_responses(open_report):
    shown = open_report()
    page = shown.page

    def found(words, scope="all"):
        page.select_option("#scope", scope)
        page.fill("#search", words)
        page.keyboard.press("Enter")
        return shown.count()

    assert found("ЕЛКА растет") == found("летом ёлка") == 220
    assert found("тайная мысль", "responses") == 220
    assert page.locator("#detail details[open] mark.hit").count() >= 2
    assert {text.lower() for text in page.locator("#detail mark.hit").all_inner_texts()} == {"тайная", "мысль"}
    shown.filter(a=WORST)
    assert found("ёлка", "responses") == 0
    assert found("Ответ", "responses") == 220
    prompts = found("отв")
    assert prompts == 220
    page.fill("#search", "")
    page.keyboard.press("Enter")
    assert page.locator("mark.hit").count() == 0


@in_browser
def test_marks_have_a_legend_and_the_models_colours(open_report):
    page = open_report().page
    colours = "all => all.map(one => getComputedStyle(one)"
    legend = page.locator("#models .dot").evaluate_all(colours + ".backgroundColor)")
    marks = page.locator(".item >> nth=0").locator(".mark").evaluate_all(colours + ".borderTopColor)")
    assert legend == marks
    assert len(set(legend)) == 3
    assert page.locator("#states .mark").count() == 4


# Numbers


@in_browser
def test_tables_sort_with_their_heads_in_sight(open_report, comparison):
    page = open_report().page
    page.locator("#all-numbers summary").click()
    lines = page.locator("#numbers tbody tr").evaluate_all(
        "all => all.map(one => [...one.cells].map(td => td.textContent))"
    )
    for (metric, name), ranked in rankings(comparison).items():
        assert [line[3] for line in lines if line[:3] == ["riddles_sample", metric, name]] in ([], ranked)
    assert "<" in page.inner_text("#numbers")
    head = page.locator("#numbers thead th", has_text="Score")
    for direction, ordering in (("ascending", False), ("descending", True)):
        head.locator("button").click()
        assert head.get_attribute("aria-sort") == direction
        column = head.evaluate("one => one.cellIndex")
        values = page.locator(f"#numbers tbody td:nth-child({column + 1})").all_inner_texts()
        assert values == sorted(values, key=lambda text: float(text.replace("−", "-")), reverse=ordering)
    page.evaluate("document.getElementById('numbers').scrollTop = 900")
    frame, top = (page.locator(one).bounding_box()["y"] for one in ("#numbers", "#numbers thead th >> nth=0"))
    assert abs(frame - top) < 2
    assert page.locator("#numbers").evaluate("one => one.scrollWidth <= one.clientWidth")
    page.locator("#numbers thead button").first.focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.className") == "sorter"


@in_browser
@pytest.mark.parametrize("language", ["en", "ru"])
def test_differences_are_in_sight_and_the_corrected_p_is_labelled(open_report, language):
    page = open_report(f"#language={language}").page
    assert page.locator("#board").evaluate("one => one.scrollWidth <= one.clientWidth")
    label = {"en": "p (Holm)", "ru": "p (Холм)"}[language]
    assert page.inner_text("#board tbody tr >> nth=0").count(label) == 5
    assert not any(mark[:1].isalnum() for mark in page.locator("#board sup.sign").all_inner_texts())


@in_browser
def test_axes_fit_the_data_and_the_plots_are_those_of_the_files(open_report, comparison):
    page = open_report().page
    for figure in figures(comparison):
        low, high = figure.axis
        ends = [end for _, one in figure.rows for end in (one.low, one.value, one.high) if end is not None]
        assert low <= min(ends) and max(ends) <= high
        assert (
            high - low <= 1.1 * max(0.1, max([*ends, figure.reference or 0]) - min([*ends, figure.reference or 0]))
            or figure.kind == "part"
        )
    drawn = page.locator("#interval-cards svg").evaluate_all(
        "all => all.map(one => [...one.querySelectorAll('title')].map(title => title.textContent))"
    )
    wanted = [
        [f"{model}: {e.value:.3f} [{e.low:.3f}, {e.high:.3f}]".replace("-", "−") for model, e in figure.rows]
        for figure in figures(comparison)
        if (figure.metric, figure.filter) == STRICT_MATCH and figure.kind in ("scores", "difference")
    ]
    assert [[title.replace("−", "-") for title in titles] for titles in drawn] == [
        [title.replace("−", "-") for title in titles] for titles in wanted
    ]


@in_browser
def test_a_difference_of_zero_has_no_sign(open_report, comparison):
    assert any(row.difference and round(row.difference.estimate.value, 3) == 0 for row in comparison.rows)
    page = open_report().page
    page.locator("#all-numbers summary").click()
    text = page.evaluate("document.body.innerText + document.body.textContent")
    assert not any(f"{sign}0.000" in text for sign in "+-−")
    assert "−0.000" not in text


@in_browser
def test_no_card_is_alone_in_its_row(open_report):
    page = open_report().page
    tops = page.locator("#interval-cards figure").evaluate_all("all => all.map(one => one.offsetTop)")
    assert [tops.count(top) for top in dict.fromkeys(tops)] == [3, 2]
    tops = page.locator("#part-cards figure").evaluate_all("all => all.map(one => one.offsetTop)")
    assert [tops.count(top) for top in dict.fromkeys(tops)] == [4]


# Phone and access


@in_browser
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("locale", ["en-US", "ru-RU"])
def test_a_phone_shows_the_board_whole_and_documents_in_full_width(open_report, theme, locale):
    page = open_report(locale=locale, color_scheme=theme, viewport={"width": PHONE, "height": 844}).page
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE
    for cell in page.locator("#board td, #pair-table td").all():
        box = cell.bounding_box()
        assert box is None or (box["x"] >= 0 and box["x"] + box["width"] <= PHONE)
    labels = page.locator("#board tbody tr >> nth=0").locator("td .label").all_inner_texts()
    assert [label.split("\n")[0] for label in labels[1:]] == [
        "enantiosemy_sample", "riddles_sample", "russian_regions_sample", "riddles_open_sample",
    ]  # fmt: skip
    assert not page.locator("#sample-outcome").is_visible()
    page.click("#fold-filters")
    assert page.locator("#sample-outcome").is_visible()
    page.locator(".item >> nth=1").click()
    assert page.locator("#detail").bounding_box()["width"] >= PHONE - 40
    assert not page.locator("#list").is_visible()
    assert not page.locator("#filters").is_visible()
    page.keyboard.press("Tab")
    page.locator("#detail").press("Escape")
    assert page.locator("#list").is_visible()
    assert page.evaluate("document.activeElement.id") == "list"


@in_browser
def test_tab_reaches_the_document_and_escape_returns_to_its_row(open_report):
    page = open_report().page
    page.focus("#list")
    page.keyboard.press("ArrowDown")
    row = page.get_attribute("#list", "aria-activedescendant")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "detail"
    page.keyboard.press("Tab")
    assert page.evaluate("document.getElementById('detail').contains(document.activeElement)")
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == "list"
    assert page.get_attribute("#list", "aria-activedescendant") == row


@in_browser
@pytest.mark.parametrize(
    "width, theme, locale",
    [(WIDE, "light", "en-US"), (WIDE, "dark", "ru-RU"), (PHONE, "light", "ru-RU"), (PHONE, "dark", "en-US")],
)
def test_axe_finds_nothing(open_report, width, theme, locale):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = open_report(
        f"#a={BEST}&b={MIDDLE}&search=ёлка", locale=locale, color_scheme=theme, viewport={"width": width, "height": 900}
    ).page
    page.locator("#all-numbers summary").click()

    def violations():
        return [
            (one["id"], node["html"][:200]) for one in axe.run(page).response["violations"] for node in one["nodes"]
        ]

    assert violations() == []
    if width == PHONE:
        page.click("#fold-filters")
        page.locator(".item >> nth=0").click()
        assert violations() == []


@in_browser
@pytest.mark.parametrize("width", [WIDE, PHONE])
def test_links_in_the_head_and_clear_move_the_focus(open_report, width):
    page = open_report(viewport={"width": width, "height": 900}).page
    focus = "document.activeElement"
    for section in ("leaderboard", "pairs", "intervals", "breakdowns", "samples", "notes"):
        page.locator(f"nav a[href='#{section}']").press("Enter")
        assert page.evaluate(f"{focus}.tagName + {focus}.closest('section').id") == "H2" + section
        assert 0 <= page.evaluate(f"{focus}.getBoundingClientRect().top") < 900
    if width == PHONE:
        page.click("#fold-filters")
    page.select_option("#sample-outcome", "wrong")
    page.locator("#clear").press("Enter")
    assert page.evaluate(f"{focus}.id") == ("search" if width == WIDE else "fold-filters")


# The sides of the focused element's ring that the nearest scrolling ancestor cuts off.
CLIPPED = """
(() => {
  const one = document.activeElement, style = getComputedStyle(one), ring = one.getBoundingClientRect();
  const out = parseFloat(style.outlineOffset) + parseFloat(style.outlineWidth);
  const frame = one.parentElement.closest("nav, .scroll, .browser, .detail, .box");
  if (!frame || getComputedStyle(frame).overflowX === "visible") return [];
  const edge = frame.getBoundingClientRect();
  const room = {
    left: ring.left - edge.left, right: edge.right - ring.right,
    top: ring.top - edge.top, bottom: edge.bottom - ring.bottom,
  };
  return Object.keys(room).filter((side) => room[side] < out - 0.1);
})()
"""


@in_browser
@pytest.mark.parametrize("width", [WIDE, PHONE])
def test_no_focus_ring_is_clipped(open_report, width):
    page = open_report(viewport={"width": width, "height": 900}).page
    page.locator("#all-numbers summary").click()
    page.locator("body").press("Home")
    page.evaluate("document.activeElement.blur()")
    names = set()
    for _ in range(90):
        page.keyboard.press("Tab")
        name = page.evaluate("document.activeElement.outerHTML.slice(0, 200)")
        assert (name, page.evaluate(CLIPPED)) == (name, [])
        names.add(name)
    assert len(names) > 40


@in_browser
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_focus_is_visible(open_report, theme):
    page = open_report(color_scheme=theme).page
    for _ in range(30):
        page.keyboard.press("Tab")
        style = page.evaluate(
            "(({outlineStyle, outlineWidth}) => outlineStyle + outlineWidth)(getComputedStyle(document.activeElement))"
        )
        assert style == "solid2px"


@in_browser
def test_a_phone_shows_the_whole_list_again_after_a_document(open_report):
    page = open_report(viewport={"width": PHONE, "height": 900}).page
    rows = page.locator(".item").count()
    page.locator(".item >> nth=1").click()
    page.locator("#back").click()
    page.wait_for_function("rows => document.querySelectorAll('.item').length >= rows", arg=rows)
