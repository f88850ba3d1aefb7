"""The numbers of a comparison equal those in the logs."""

import json

import numpy as np
import pytest

from mera_ru_tasks.compare.compare import compare_runs
from mera_ru_tasks.compare.notes import joined
from mera_ru_tasks.logs.find import find_logs
from mera_ru_tasks.scoring.chance import chance_level
from mera_ru_tasks.scoring.metrics import FLEXIBLE, STRICT
from tests.support.comparisons import MIDDLE, STRONG, STRONG_LABEL, TASK, WEAK, log_file, results_file, row_of, skilled
from tests.support.scripted import run


def test_scores_are_lm_evals(results):
    comparison = compare_runs([results])
    checked = 0
    for log in find_logs([results]):
        label = STRONG_LABEL if log.run.model == STRONG else log.run.model
        for name, value in log.scores.items():
            metric, _, filter_name = name.partition(",")
            if filter_name and not metric.endswith("_stderr"):
                assert row_of(comparison, log.task, label, metric, filter_name).score.value == pytest.approx(value)
                checked += 1
    assert checked >= 3 * (4 + 3 + 6 + 3)
    for model in (WEAK, MIDDLE):
        content = json.loads(results_file(results, model).read_text(encoding="utf-8"))
        mean = next(r for r in comparison.means if (r.model, r.filter) == (model, STRICT))
        assert mean.score.value == pytest.approx(content["results"]["mera_ru_sample"]["exact_match,strict-match"])


def test_differences_are_paired_and_corrected(results):
    comparison = compare_runs([results], baseline=WEAK)
    strict = row_of(comparison, "riddles_sample", STRONG_LABEL)
    base = row_of(comparison, "riddles_sample", WEAK)
    assert strict.difference.estimate.value == pytest.approx(strict.score.value - base.score.value)
    assert strict.p_holm >= strict.difference.p
    # Skills are nested: the better model is correct wherever the other one is.
    assert (strict.difference.won, strict.difference.lost) == (round(strict.difference.estimate.value * 60), 0)
    grouped = row_of(comparison, TASK, STRONG_LABEL)
    assert (grouped.score.n, grouped.score.clusters) == (60, 20)
    assert grouped.difference.df == 19
    assert row_of(comparison, TASK, STRONG_LABEL, "group_exact_match").score.n == 20
    assert base.difference is None


def test_breakdowns_divide_what_they_say(results):
    comparison = compare_runs([results])
    for task, by, parts in (
        ("enantiosemy_sample", "type", {"1", "2", "3", "4"}),
        ("enantiosemy_sample", "right_letters", {"1", "2", "3", "4"}),
        ("enantiosemy_sample", "prompt", {f"{kind}.{number}" for kind in "1234" for number in "12345"}),
        ("riddles_sample", "prompt", {f"1.{number}" for number in "12345"}),
        (TASK, "type", {"1", "2", "3"}),
        (TASK, "prompt", {f"{kind}.{number}" for kind in "123" for number in "12345"}),
    ):
        own = [s for s in comparison.slices if (s.task, s.by, s.model, s.filter) == (task, by, WEAK, STRICT)]
        assert {part.part for part in own} == parts
        right = sum(part.score.value * part.score.n for part in own)
        whole = row_of(comparison, task, WEAK).score
        assert (right, sum(part.score.n for part in own)) == (pytest.approx(whole.value * whole.n), whole.n)
    for spread in comparison.spreads:
        shares = [
            part.score.value
            for part in comparison.slices
            if (part.task, part.by, part.model, part.filter) == (spread.task, "prompt", spread.model, spread.filter)
            and part.part.startswith(f"{spread.kind}.")
        ]
        assert (spread.spread, spread.sd) == pytest.approx((np.ptp(shares), np.std(shares, ddof=1)))
    answers = [s for s in comparison.slices if (s.by, s.task) == ("accepted_answers", "riddles_sample")]
    assert len({part.part for part in answers}) > 3
    format_gap = next(g for g in comparison.gaps if (g.kind, g.task, g.model) == ("format", TASK, STRONG_LABEL))
    flexible = row_of(comparison, TASK, STRONG_LABEL, filter_name=FLEXIBLE).score.value
    assert format_gap.value.value == pytest.approx(flexible - row_of(comparison, TASK, STRONG_LABEL).score.value)
    assert format_gap.value.value > 0
    open_gap = next(g for g in comparison.gaps if (g.kind, g.filter, g.model) == ("open_minus_closed", STRICT, WEAK))
    scores = [row_of(comparison, task, WEAK).score.value for task in ("riddles_open_sample", "riddles_sample")]
    assert open_gap.value.value == pytest.approx(scores[0] - scores[1])


def letters_doc(outputs, most=6, unit=False):
    return {
        "outputs": outputs,
        "meta": {},
        "answer_format": {"choices": "АБВГДЕ"[: most if most > 1 else 4], "max_choices": most, "with_phrase": unit},
    }


RIDDLE = {
    "outputs": "ключ; отмычка",
    "meta": {},
    "answer_format": {"choices": "", "max_choices": 0, "with_phrase": False},
}
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
        ("acc", [{**RIDDLE, "distractors": ["лёд"] * 9}], 1 / 10),
        (
            "acc_bytes",
            [{**RIDDLE, "distractors": ["лёд"] * 3}, {**RIDDLE, "distractors": ["лёд"]}],
            (1 / 4 + 1 / 2) / 2,
        ),
    ],
)
def test_chance_levels(metric, docs, level):
    assert chance_level(metric, docs) == (None if level is None else pytest.approx(level))


def test_the_newest_log_wins_and_the_choice_is_told(copied, mera_ru):
    run(copied, ["riddles_sample"], skilled(0.99), model=WEAK)
    outcome = mera_ru("compare", copied, "--format", "json")
    data = json.loads(outcome.out)
    found = next(r for r in data["scores"] if (r["task"], r["model"]) == ("riddles_sample", WEAK))
    assert found["score"]["value"] > 0.6
    assert "older logs left out: samples_riddles_sample_" in outcome.err
    assert next(r for r in data["scores"] if (r["task"], r["model"]) == (TASK, WEAK))["score"]["value"] < 0.5


@pytest.mark.parametrize("name", [STRONG, "strong-7b", "middle-1b", MIDDLE])
def test_the_baseline_is_named_in_any_usual_way(results, name):
    assert compare_runs([results], baseline=name).family.baseline.endswith(name.rpartition("/")[2])


def test_an_unknown_baseline_is_told_with_those_there_are(results, mera_ru):
    outcome = mera_ru("compare", results, "--baseline", "gpt")
    assert outcome.status == 1
    assert MIDDLE in outcome.err
    assert f"Did you mean {MIDDLE!r}" in mera_ru("compare", results, "--baseline", "org/midle-1b").err


def test_the_chance_of_groups_is_of_those_that_count(copied):
    """An incomplete group affects no score, and therefore no chance level."""
    log = log_file(copied, WEAK)
    lines = log.read_text(encoding="utf-8").splitlines(keepends=True)
    # Of the first group, only documents that a guesser can get right are left. A guesser never gets another whole group
    # right.
    docs = [json.loads(line)["doc"] for line in lines]
    first = docs[0]["meta"]["group_id"]
    kept = [
        line
        for line, doc in zip(lines, docs, strict=True)
        if doc["meta"]["group_id"] != first or not doc["answer_format"]["with_phrase"]
    ]
    assert len(kept) < len(lines)
    log.write_text("".join(kept), encoding="utf-8")
    row = row_of(compare_runs([copied]), TASK, WEAK, "group_exact_match")
    assert (row.score.n, row.chance) == (19, 0)
    assert joined(row.incomplete) == f"57 of 60 documents of {TASK}"
