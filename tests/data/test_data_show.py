"""`mera-ru data show`: a document as a run sees it."""

from __future__ import annotations

import re

import pytest

from mera_ru_tasks.data import document
from mera_ru_tasks.data.benchmarks import RUSSIAN_REGIONS
from tests.support.scripted import run
from tests.support.synthetic import make_rows, write_data


def mixed(doc, prompt):
    """Answers that the pipelines read differently."""
    answer = doc["outputs"].split(";")[0]
    return (f"Ответ: {doc['outputs']}", f"**Ответ**: «{answer}»", answer, "Ответ: не знаю")[doc["meta"]["id"] % 4]


@pytest.mark.parametrize(
    "task",
    ["enantiosemy_sample", "riddles_sample_prefill", "riddles_open_sample", "russian_regions_sample",
     "russian_regions_sample_prefill"],
)  # fmt: skip
def test_a_document_is_shown_as_a_run_sees_it(task):
    samples = run(None, [task], mixed, limit=8)["samples"][task]
    for sample in samples:
        doc, response = sample["doc"], sample["resps"][0][0]
        if doc["meta"]["id"] > 4:
            continue
        shown = document.show(task, doc["meta"]["id"])
        assert shown.prompt == sample["arguments"][0][0]
        assert shown.doc == doc and shown.reference == doc["outputs"].strip()
        read = document.read(shown, response)
        scores = read.strict_scores if sample["filter"] == "strict-match" else read.flexible_scores
        assert dict(scores) == {name: sample[name] for name in sample["metrics"]}
        if sample["filter"] == "flexible-extract":
            assert read.flexible == sample["filtered_resps"][0]


def test_showing_a_document(mera_ru, monkeypatch, tmp_path):
    monkeypatch.setenv("LM_EVAL_JUDGE_API_BASE", "http://127.0.0.1:9")  # a look must not cost a judge's question
    monkeypatch.setenv("LM_EVAL_JUDGE_MODEL", "judge")
    write_data(tmp_path, answers=False, rows_per_type=2, benchmarks=(RUSSIAN_REGIONS,))
    closed = mera_ru("data", "show", "russian_regions", "--data", tmp_path, "--response", "**Ответ:** (б)")
    assert closed.status == 0 and re.search(r"^--- meta ---\n(?:.*, )?id 1, ", closed.out)
    assert "(closed: the document gets no score)" in closed.out and closed.out.count("for want of a reference") == 2
    assert "flexible-extract reads ---\n'Б'" in closed.out
    shot = mera_ru("data", "show", "russian_regions_shots", "--data", tmp_path)
    _, shots = make_rows(RUSSIAN_REGIONS, rows_per_type=2)
    assert f"id {shots[0]['meta']['id']}," in shot.out and f"reference ---\n{shots[0]['outputs']}\n" in shot.out
    identity, response = shots[0]["meta"]["id"], f"Ответ: {shots[0]['outputs']}"
    scored = mera_ru("data", "show", "russian_regions", "--id", identity, "--data", tmp_path, "--response", response)
    assert scored.out.count("exact_match 1") == 2
