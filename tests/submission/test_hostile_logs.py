"""Any content of a log leads to a message, not to a traceback."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mera_ru_tasks.issues import MeraRuError, errors
from mera_ru_tasks.logs.find import find_logs
from mera_ru_tasks.submission.pack import build, prepare
from tests.support.archives import OTHER_DATE
from tests.support.properties import at_least

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)

RESULTS_PATHS = [
    (), ("model_name",), ("config",), ("config", "model_args"), ("config", "gen_kwargs"), ("configs",), ("n-shot",),
    ("n-samples",), ("n-samples", "riddles_closed"), ("n-samples", "riddles_closed", "original"), ("chat_template",),
]  # fmt: skip

SAMPLE_PATHS = [
    (), ("doc",), ("doc", "meta"), ("doc", "meta", "id"), ("doc", "inputs"), ("doc", "outputs"), ("resps",),
    ("filter",), ("arguments",), ("arguments", "gen_args_0"), ("arguments", "gen_args_0", "arg_1", "temperature"),
    ("metrics",),
]  # fmt: skip


def with_value(content: Any, path: tuple[str, ...], value: Any) -> Any:
    if not path:
        return value
    return {**content, path[0]: with_value(content.get(path[0]), path[1:], value)}


@given(st.sampled_from(["results", "samples"]).flatmap(
    lambda kind: st.tuples(st.just(kind), st.sampled_from(RESULTS_PATHS if kind == "results" else SAMPLE_PATHS))
), VALUES)  # fmt: skip
@at_least(150)
def test_whatever_stands_in_a_log_there_is_a_message(tmp_path_factory, one_answer, kind_and_path, value):
    kind, path = kind_and_path
    contents = {**one_answer, kind: with_value(one_answer[kind], path, value)}
    folder = tmp_path_factory.mktemp("hostile")
    (folder / f"results_{OTHER_DATE}.json").write_text(json.dumps(contents["results"]))
    (folder / f"samples_riddles_closed_{OTHER_DATE}.jsonl").write_text(json.dumps(contents["samples"]) + "\n")
    try:
        draft = prepare(find_logs([folder]))
    except MeraRuError as error:
        assert str(folder) in str(error)
    else:
        assert errors(draft.issues)
        if not draft.stopped_by(partial=True):
            build(draft.answers)


@pytest.fixture(scope="module")
def one_answer(short):
    """Return the content of the results file and one line of a sample log."""
    (results,), (samples,) = short.rglob("results_*"), short.rglob("samples_riddles*")
    return {"results": json.loads(results.read_text()), "samples": json.loads(samples.read_bytes().split(b"\n")[0])}
