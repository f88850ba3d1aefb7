"""`mera-ru data show` shows a document as it appears in a run."""

from __future__ import annotations

import re

import pytest

from mera_ru_tasks.data.benchmarks import RUSSIAN_REGIONS
from tests.support.scripted import run
from tests.support.synthetic import make_rows, write_data


def sections(out):
    """Return the output of `data show` by section title."""
    parts = re.split(r"^--- (.+) ---\n", out, flags=re.MULTILINE)
    return {
        title: text.removesuffix("\n").removesuffix("\n") for title, text in zip(parts[1::2], parts[2::2], strict=True)
    }


def mixed(doc, prompt):
    """Answers that the two filters extract differently."""
    answer = doc["outputs"].split(";")[0]
    return (f"Ответ: {doc['outputs']}", f"**Ответ**: «{answer}»", answer, "Ответ: не знаю")[doc["meta"]["id"] % 4]


@pytest.mark.parametrize(
    "task",
    ["enantiosemy_sample", "riddles_sample_prefill", "riddles_open_sample", "russian_regions_sample",
     "russian_regions_sample_prefill"],
)  # fmt: skip
def test_a_document_is_shown_as_in_a_run(task, mera_ru):
    samples = run(None, [task], mixed, limit=8)["samples"][task]
    for sample in samples:
        doc, response = sample["doc"], sample["resps"][0][0]
        if doc["meta"]["id"] > 4:
            continue
        shown = sections(mera_ru("data", "show", task, "--id", doc["meta"]["id"], "--response", response).out)
        assert shown["prompt"] == sample["arguments"][0][0]
        assert shown["reference"] == doc["outputs"].strip()
        scores = dict(part.split(" ") for part in shown[f"{sample['filter']} scores"].split(", "))
        expected = {name: f"{sample[name]:g}" for name in sample["metrics"] if not name.startswith("group")}
        assert scores == expected
        if sample["filter"] == "flexible-extract" and sample["filtered_resps"][0]:
            assert shown["flexible-extract answer"] == repr(sample["filtered_resps"][0])


def test_showing_a_document(mera_ru, monkeypatch, tmp_path):
    # Showing a document must not cost a question to the judge.
    monkeypatch.setenv("LM_EVAL_JUDGE_API_BASE", "http://127.0.0.1:9")
    monkeypatch.setenv("LM_EVAL_JUDGE_MODEL", "judge")
    write_data(tmp_path, answers=False, rows_per_type=2, benchmarks=(RUSSIAN_REGIONS,))
    closed = mera_ru("data", "show", "russian_regions", "--data", tmp_path, "--response", "**Ответ:** (б)")
    assert closed.status == 0 and re.search(r"^--- meta ---\n(?:.*, )?id 1, ", closed.out)
    assert (
        "(closed, so the document gets no score)" in closed.out
        and closed.out.count("none, because there is no reference") == 2
    )
    assert "flexible-extract answer ---\n'Б'" in closed.out
    shot = mera_ru("data", "show", "russian_regions_shots", "--data", tmp_path)
    _, shots = make_rows(RUSSIAN_REGIONS, rows_per_type=2)
    assert f"id {shots[0]['meta']['id']}," in shot.out and f"reference ---\n{shots[0]['outputs']}\n" in shot.out
    identity, response = shots[0]["meta"]["id"], f"Ответ: {shots[0]['outputs']}"
    scored = mera_ru("data", "show", "russian_regions", "--id", identity, "--data", tmp_path, "--response", response)
    assert scored.out.count("exact_match 1") == 2
