"""Runs are compared: the right logs, the right numbers, and no silent comparison of unlike things."""

import csv
import io
import json
import shutil

import pytest
from compared import MIDDLE, SAMPLE_TASKS, STRONG, WEAK, skilled
from scripted import ScriptedModel, reference, run
from synthetic import write_data

from mera_ru_tasks.comparison.chance import chance_level
from mera_ru_tasks.comparison.comparing import compare
from mera_ru_tasks.comparison.remarks import joined
from mera_ru_tasks.runs import find_logs
from mera_ru_tasks.samples import FLEXIBLE, STRICT
from mera_ru_tasks.scoring import NO_WHOLE_GROUP

TASK = "russian_regions_sample"
STRONG_LABEL = "strong-7b"


def row_of(comparison, task, model, metric="exact_match", pipeline=STRICT):
    wanted = (task, model, metric, pipeline)
    return next(r for r in comparison.rows if (r.task, r.model, r.metric, r.pipeline) == wanted)


@pytest.fixture
def copied(results, tmp_path):
    return shutil.copytree(results, tmp_path / "results")


def results_file(folder, model):
    return next(iter((folder / model.replace("/", "__")).glob("results_*.json")))


def log_file(folder, model, task=TASK):
    return next(iter((folder / model.replace("/", "__")).glob(f"samples_{task}_2*.jsonl")))


def edit_json(file, change):
    content = json.loads(file.read_text(encoding="utf-8"))
    change(content)
    file.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")


def edit_rows(file, change):
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line]
    file.write_text("".join(json.dumps(change(row), ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


# --- the numbers ---


def test_scores_are_lm_evals(results):
    comparison = compare([results])
    checked = 0
    for log in find_logs([results]):
        label = STRONG_LABEL if log.run.model == STRONG else log.run.model
        for name, value in log.scores.items():
            metric, _, pipeline = name.partition(",")
            if pipeline and not metric.endswith("_stderr"):
                assert row_of(comparison, log.task, label, metric, pipeline).score.value == pytest.approx(value)
                checked += 1
    assert checked == 3 * (4 + 3 + 6 + 3)
    for model in (WEAK, MIDDLE):
        content = json.loads(results_file(results, model).read_text(encoding="utf-8"))
        mean = next(r for r in comparison.means if (r.model, r.pipeline) == (model, STRICT))
        assert mean.score.value == pytest.approx(content["results"]["mera_ru_sample"]["exact_match,strict-match"])


def test_differences_are_paired_and_corrected(results):
    comparison = compare([results], baseline=WEAK)
    strict = row_of(comparison, "riddles_sample", STRONG_LABEL)
    base = row_of(comparison, "riddles_sample", WEAK)
    assert strict.difference.estimate.value == pytest.approx(strict.score.value - base.score.value)
    assert strict.difference.test == "exact McNemar"
    assert strict.p_holm >= strict.difference.p
    # Skill is nested, so the better model is right wherever the other is: the smallest p that so many documents allow.
    only = round(strict.difference.estimate.value * 60)
    assert strict.difference.p == pytest.approx(2 * 0.5**only)
    grouped = row_of(comparison, TASK, STRONG_LABEL)
    assert (grouped.score.n, grouped.score.clusters) == (60, 20)
    assert grouped.difference.test == "paired cluster bootstrap"
    assert row_of(comparison, TASK, STRONG_LABEL, "group_exact_match").score.n == 20
    assert base.difference is None


def test_breakdowns_divide_what_they_say(results):
    comparison = compare([results])
    for task, by, parts in (
        ("enantiosemy_sample", "type", {"1", "2", "3", "4"}),
        ("enantiosemy_sample", "right_letters", {"1", "2", "3", "4"}),
        ("enantiosemy_sample", "prompt", {f"{kind}.{number}" for kind in "1234" for number in "12345"}),
        ("riddles_sample", "prompt", {f"1.{number}" for number in "12345"}),
        (TASK, "type", {"1", "2", "3"}),
        (TASK, "prompt", {f"{kind}.{number}" for kind in "123" for number in "12345"}),
    ):
        own = [s for s in comparison.slices if (s.task, s.by, s.model, s.pipeline) == (task, by, WEAK, STRICT)]
        assert {part.part for part in own} == parts
        right = sum(part.score.value * part.score.n for part in own)
        whole = row_of(comparison, task, WEAK).score
        assert (right, sum(part.score.n for part in own)) == (pytest.approx(whole.value * whole.n), whole.n)
    answers = [s for s in comparison.slices if (s.by, s.task) == ("accepted_answers", "riddles_sample")]
    assert len({part.part for part in answers}) > 3
    format_gap = next(g for g in comparison.gaps if (g.kind, g.task, g.model) == ("format", TASK, STRONG_LABEL))
    flexible = row_of(comparison, TASK, STRONG_LABEL, pipeline=FLEXIBLE).score.value
    assert format_gap.value.value == pytest.approx(flexible - row_of(comparison, TASK, STRONG_LABEL).score.value)
    assert format_gap.value.value > 0
    open_gap = next(g for g in comparison.gaps if (g.kind, g.pipeline, g.model) == ("open_minus_closed", STRICT, WEAK))
    scores = [row_of(comparison, task, WEAK).score.value for task in ("riddles_open_sample", "riddles_sample")]
    assert open_gap.value.value == pytest.approx(scores[0] - scores[1])


def letters_doc(outputs, most=6, unit=False):
    return {
        "outputs": outputs,
        "meta": {},
        "answer_format": {"letters": "АБВГДЕ"[: most if most > 1 else 4], "most": most, "unit": unit},
    }


RIDDLE = {"outputs": "ключ; отмычка", "meta": {}, "answer_format": {"letters": "", "most": 0, "unit": False}}
ONE, UNIT = letters_doc("Б", 1), letters_doc("Б; лужа", 1, True)


@pytest.mark.parametrize(
    ("metric", "docs", "level"),
    [
        ("exact_match", [RIDDLE], 0),
        ("exact_match", [ONE], 1 / 4),
        ("exact_match", [ONE, UNIT, UNIT], 1 / 12),
        ("letter_match", [ONE, UNIT], 1 / 4),
        ("group_exact_match", [ONE, UNIT], 0),
        ("exact_match", [letters_doc("А"), letters_doc("А"), letters_doc("А; Б")], 2 / 3 / 6),
        ("exact_match", [letters_doc("А; Б; В; Г; Д; Е")], 1),
        ("f1", [letters_doc("А")], 2 / 7),
        ("judge_score", [RIDDLE], 0),
        ("judge_score", [ONE], None),
        ("answered", [ONE], None),
        ("exact_match", [letters_doc("")], None),
    ],
)
def test_chance_levels(metric, docs, level):
    assert chance_level(metric, docs) == (None if level is None else pytest.approx(level))


# --- which logs ---


def test_the_newest_log_wins_and_the_choice_is_told(copied, mera_ru):
    run(copied, ["riddles_sample"], skilled(0.99), model=WEAK)
    outcome = mera_ru("compare", copied, "--format", "json")
    data = json.loads(outcome.out)
    found = next(r for r in data["scores"] if (r["task"], r["model"]) == ("riddles_sample", WEAK))
    assert found["score"]["value"] > 0.6
    assert "older and left out: samples_riddles_sample_" in outcome.err
    assert next(r for r in data["scores"] if (r["task"], r["model"]) == (TASK, WEAK))["score"]["value"] < 0.5


@pytest.mark.parametrize("name", [STRONG, "strong-7b", "middle-1b", MIDDLE])
def test_the_baseline_is_named_in_any_usual_way(results, name):
    assert compare([results], baseline=name).baseline.endswith(name.rpartition("/")[2])


def test_an_unknown_baseline_is_told_with_those_there_are(results, mera_ru):
    outcome = mera_ru("compare", results, "--baseline", "gpt")
    assert outcome.status == 1
    assert "No run is of the model 'gpt'" in outcome.err
    assert repr(MIDDLE) in outcome.err


# --- unlike runs ---


def limited(folder):
    run(folder, [TASK], model="org/other", limit=12)


def with_shots(folder):
    run(folder, [TASK], model="org/other", num_fewshot=2)


def with_system_instruction(folder):
    run(folder, [TASK], model="org/other", system_instruction="Ты знаток.", apply_chat_template=True)


def of_another_version(folder):
    run(folder, [TASK], model="org/other")
    edit_json(results_file(folder, "org/other"), lambda content: content["versions"].update({TASK: 2.0}))


def with_other_prompts(folder):
    run(folder, [TASK], model="org/other")

    def change(row):
        return {**row, "prompt_hash": "0", "arguments": {"gen_args_0": {"arg_0": "Что?", "arg_1": {}}}}

    edit_rows(log_file(folder, "org/other"), change)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (limited, "the documents: 12 (--limit 12) against 60, 12 in common"),
        (with_shots, "the number of shots: 2 against 0"),
        (with_system_instruction, "the system instruction: Ты знаток. against not set"),
        (of_another_version, "the task's version: 2.0 against 1.0"),
        (with_other_prompts, "60 of 60 common documents have other prompts"),
    ],
)
def test_unlike_runs_are_not_compared_unless_asked(copied, mera_ru, make, reason):
    make(copied)
    comparison = compare([copied], baseline=WEAK)
    row = row_of(comparison, TASK, "org/other")
    assert row.difference is None
    assert reason in joined(row.why_not)
    assert reason in mera_ru("compare", copied, "--baseline", WEAK).out.replace("\n", " ")
    asked = row_of(compare([copied], baseline=WEAK, across_settings=True), TASK, "org/other")
    assert asked.difference is not None
    assert reason in joined(asked.remarks)
    # The others are compared as before.
    assert row_of(comparison, TASK, MIDDLE).difference is not None


def test_other_documents_are_never_compared(tmp_path):
    for seed, model in enumerate(("org/one", "org/two")):
        data = write_data(tmp_path / f"data{seed}", rows_per_type=4, seed=seed)
        run(tmp_path / "results", ["riddles_closed"], model=model, data=data)
    row = row_of(compare([tmp_path / "results"], across_settings=True), "riddles_closed", "org/two")
    assert row.difference is None
    assert "no document in common" in joined(row.why_not)


def test_a_prefilled_run_is_compared_with_a_plain_one_only_when_asked(copied, mera_ru):
    run(copied, [f"{TASK}_prefill"], lambda doc, prompt: reference(doc)[6:], model="org/base")
    apart = compare([copied], baseline=WEAK)
    assert row_of(apart, f"{TASK}_prefill", "org/base").difference is None
    together = compare([copied], baseline=WEAK, across_settings=True)
    row = row_of(together, TASK, "org/base · prefilled")
    assert row.difference.estimate.value > 0
    assert str(row.remarks[0]) == "the prompts' end: prefilled against plain"
    table = mera_ru("compare", copied, "--baseline", WEAK, "--across-settings").out.replace("\n", " ")
    assert "* org/base · prefilled against org/weak-160m: the prompts' end: prefilled against plain" in table


def test_chat_templates_may_differ_and_it_is_said(copied, monkeypatch):
    def other_template(self, history, add_generation_prompt=True):
        return "".join(f"[{message['role']}]\n{message['content']}\n" for message in history) + "[model]\n"

    run(copied, [TASK], model="org/chat-one", apply_chat_template=True)
    monkeypatch.setattr(ScriptedModel, "apply_chat_template", other_template)
    run(copied, [TASK], model="org/chat-two", apply_chat_template=True)
    row = row_of(compare([copied], baseline="org/chat-one"), TASK, "org/chat-two")
    assert row.difference is not None
    assert joined(row.remarks) == "the prompts hold the same questions in different chat templates"


# --- what is wrong with runs ---


def test_a_cut_line_costs_that_line(copied, mera_ru):
    log = log_file(copied, WEAK)
    log.write_bytes(log.read_bytes()[:-300])
    outcome = mera_ru("compare", copied, "--format", "json")
    data = json.loads(outcome.out)
    assert outcome.status == 0
    assert "line 120: it is not valid JSON" in outcome.err
    assert "The last line is cut" in outcome.err
    sizes = {
        r["pipeline"]: r["score"]["n"]
        for r in data["scores"]
        if (r["task"], r["model"], r["metric"]) == (TASK, WEAK, "exact_match")
    }
    assert sorted(sizes.values()) == [59, 60]


def test_without_results_the_numbers_are_the_same_and_what_is_unknown_is_said(copied, mera_ru):
    before = row_of(compare([copied]), TASK, WEAK)
    results_file(copied, WEAK).unlink()
    comparison = compare([copied], baseline=MIDDLE)
    row = row_of(comparison, TASK, WEAK.replace("/", "__"))
    assert row.score == before.score
    assert row.difference is not None
    assert "not known" in joined(row.remarks)
    assert "Put the file back" in mera_ru("compare", copied).err


def test_broken_results_leave_the_others(copied, mera_ru):
    results_file(copied, WEAK).write_text("{", encoding="utf-8")
    outcome = mera_ru("compare", copied)
    assert outcome.status == 0
    assert "is not valid JSON" in outcome.err
    assert MIDDLE in outcome.out
    assert WEAK not in outcome.out


def test_a_predict_only_run_has_no_scores_and_says_so(copied, mera_ru, tmp_path):
    run(copied, ["riddles_sample"], model="org/silent", predict_only=True)
    edit_rows(log_file(copied, "org/silent", "riddles_sample"), lambda row: {**row, "metrics": ["bypass"]})
    report = tmp_path / "report.html"
    outcome = mera_ru("compare", copied, "-o", report)
    assert outcome.status == 0
    assert "has no scores: the run was made with --predict_only" in outcome.err
    assert "org/silent" in report.read_text(encoding="utf-8")


def test_closed_references_give_no_scores(tmp_path, mera_ru):
    data = write_data(tmp_path / "data", rows_per_type=4, answers=False)
    run(tmp_path / "results", ["riddles_closed"], data=data)
    outcome = mera_ru("compare", tmp_path / "results", "--format", "json")
    assert json.loads(outcome.out)["scores"] == []
    assert "has no scores: its documents have no reference answer" in outcome.err
    assert "documents were run" not in outcome.err, "all of them were"


def test_logs_of_an_older_lm_eval_are_named(copied, mera_ru):
    edit_rows(log_file(copied, WEAK), lambda row: {name: value for name, value in row.items() if name != "filter"})
    outcome = mera_ru("compare", copied)
    assert outcome.status == 0
    assert "the field `filter` is missing or not as lm-eval 0.4.12 and later write it" in outcome.err
    assert "nothing of this log is left" in outcome.err


@pytest.mark.parametrize("value", [1.5, "yes", None, [1, 2], float("nan")])
def test_a_score_that_is_none_is_never_counted(copied, value):
    edit_rows(
        log_file(copied, WEAK), lambda row: {**row, "exact_match": value if row["doc_id"] == 0 else row["exact_match"]}
    )
    comparison = compare([copied])
    assert row_of(comparison, TASK, WEAK).score.n == 59
    assert "the metric `exact_match` is" in joined(comparison.problems)


def test_a_verdict_that_is_missing_costs_no_other_score(copied):
    """Of several processes one that had no verdict says NaN, so that lm-eval can put them together."""
    wanted = {"judge_score": float("nan"), "group_judge_score": list(NO_WHOLE_GROUP)}

    def judged(row):
        scores = wanted if row["doc_id"] < 2 else {"judge_score": 1.0, "group_judge_score": row["group_exact_match"]}
        return {**row, **scores, "metrics": [*row["metrics"], *scores]} if row["filter"] == STRICT else row

    edit_rows(log_file(copied, WEAK), judged)
    comparison = compare([copied])
    assert row_of(comparison, TASK, WEAK).score.n == 60
    assert row_of(comparison, TASK, WEAK, "judge_score").score.n == 58
    assert row_of(comparison, TASK, WEAK, "group_judge_score").score.n == 19


def test_nothing_to_compare_is_an_error(tmp_path, copied, mera_ru):
    assert "does not exist" in mera_ru("compare", tmp_path / "nowhere").err
    for log in copied.glob("*/samples_*.jsonl"):
        log.write_text("{}\n", encoding="utf-8")
    outcome = mera_ru("compare", copied)
    assert outcome.status == 1
    assert "Nothing is left to compare" in outcome.err


# --- scores that were made after the run ---


def test_verdicts_beside_the_logs_are_read(copied):
    log = log_file(copied, WEAK, "riddles_sample")
    date = log.stem.rpartition("_")[2]
    lines = [
        {
            "doc_id": n,
            "id": n + 1,
            "filter": STRICT,
            "scores": {"judge_score": n % 3 / 2},
            "source": "asked",
            "reason": f"довод {n}",
        }
        for n in range(59)
    ]
    lines.append({"doc_id": 59, "id": 60, "filter": STRICT, "scores": {}, "source": "failed", "reason": "time-out"})
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    log.with_name(f"judged_org_judge_riddles_sample_{date}.jsonl").write_text(text, encoding="utf-8")
    comparison = compare([copied], baseline=MIDDLE)
    row = row_of(comparison, "riddles_sample", WEAK, "judge_score", "judge org_judge")
    assert row.score.n == 59
    assert row.score.value == pytest.approx(sum(n % 3 / 2 for n in range(59)) / 59)
    assert joined(row.why_not) == f"{MIDDLE} has no such score"
    entry = next(e for e in comparison.entries if (e.task, e.model) == ("riddles_sample", WEAK))
    assert sum(v.score is None for a in entry.answers.values() for v in a.verdicts) == 1


def test_scores_against_answers_that_came_later_replace_the_logs(copied):
    log = log_file(copied, WEAK, "riddles_sample")
    date = log.stem.rpartition("_")[2]
    lines = [{"doc_id": n, "id": n + 1, "filter": STRICT, "scores": {"exact_match": 1}} for n in range(60)]
    text = "".join(json.dumps(line) + "\n" for line in lines) + "{cut"
    log.with_name(f"scored_riddles_sample_{date}.jsonl").write_text(text, encoding="utf-8")
    comparison = compare([copied])
    assert row_of(comparison, "riddles_sample", WEAK).score.value == 1
    said = joined(comparison.problems)
    assert "scores of riddles_sample are from scored_" in said
    assert "differ from the log's" in said
    assert "line 61" in said


# --- how it is shown ---


def test_all_formats_show_the_same_scores(results, mera_ru):
    data = json.loads(mera_ru("compare", results, "--format", "json").out)
    lines = list(csv.DictReader(io.StringIO(mera_ru("compare", results, "--format", "csv").out)))
    scores = [line for line in lines if line["kind"] == "score"]
    assert [float(line["value"]) for line in scores] == [row["score"]["value"] for row in data["scores"]]
    markdown, table = mera_ru("compare", results, "--format", "markdown").out, mera_ru("compare", results).out
    for row in data["scores"]:
        assert f"{row['score']['value']:.3f}" in markdown
        assert f"{row['score']['value']:.3f}" in table


def test_hostile_names_are_shown_as_they_are(copied, mera_ru):
    name = "=cmd()|<b>`x`[red]\x1b[31m\u202e"
    edit_json(results_file(copied, WEAK), lambda content: content.update(model_name=name))
    table = mera_ru("compare", copied).out
    assert "\x1b" not in table
    assert "\u202e" not in table
    lines = csv.DictReader(io.StringIO(mera_ru("compare", copied, "--format", "csv").out))
    assert not any(value.startswith("=") for line in lines for value in line.values())
    markdown = mera_ru("compare", copied, "--format", "markdown").out
    assert "<b>" not in markdown.replace("\\<b\\>", "")


def test_files_are_written_where_the_ending_says_and_never_over_others(results, mera_ru, tmp_path):
    for ending, start in ((".md", "### Mean"), (".csv", "kind,"), (".json", "{"), (".html", "<!doctype html>")):
        file = tmp_path / f"comparison{ending}"
        outcome = mera_ru("compare", results, "-o", file)
        assert outcome.status == 0, outcome.err
        assert file.read_text(encoding="utf-8").startswith(start)
        # The terminal has the means alone, so that what was printed before stays in sight.
        assert outcome.out.startswith("Mean over the tasks")
        assert len(outcome.out.splitlines()) < 20
        again = mera_ru("compare", results, "-o", file)
        assert (again.status, "exists and is not overwritten" in again.err) == (1, True)


def test_plots_are_written_as_png_and_svg(copied, mera_ru, tmp_path):
    edit_json(results_file(copied, WEAK), lambda content: content.update(model_name="$\\frac{1}{0}$ <script>"))
    logs = [log_file(copied, model, "riddles_sample") for model in (WEAK, MIDDLE)]
    outcome = mera_ru("compare", *logs, "--plots", tmp_path / "plots")
    assert outcome.status == 0, outcome.err
    names = {file.name for file in (tmp_path / "plots").iterdir()}
    assert "scores_riddles_sample_exact_match_strict-match.png" in names
    assert "within_format_riddles_sample.svg" in names
    svg = (tmp_path / "plots" / "scores_riddles_sample_exact_match_strict-match.svg").read_text(encoding="utf-8")
    assert "$\\frac{1}{0}$ &lt;script" in svg
    again = mera_ru("compare", *logs, "--plots", tmp_path / "plots")
    assert (again.status, "exists and is not overwritten" in again.err) == (1, True)


def test_plots_without_matplotlib_name_the_extra(results, mera_ru, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    outcome = mera_ru("compare", results, "--plots", tmp_path / "plots")
    assert (outcome.status, 'pip install "mera-ru-tasks[report]"' in outcome.err) == (1, True)


@pytest.mark.parametrize("arguments", [["--format", "html"], ["-o", "x.txt"], ["--format", "pdf"], []])
def test_mistakes_in_the_command_line_end_with_2(results, mera_ru, arguments):
    paths = [results] if arguments else []
    assert mera_ru("compare", *paths, *arguments).status == 2


def test_sample_tasks_are_all_there(results):
    assert compare([results]).tasks == ["enantiosemy_sample", "riddles_sample", TASK, "riddles_open_sample"]
    assert len(SAMPLE_TASKS) == 2
