"""JSON from users and other programs is parsed strictly: a key that occurs twice is an error."""

from __future__ import annotations

import json
import zipfile

import pytest

from mera_ru_tasks.issues import Issue, MeraRuError, shortened
from mera_ru_tasks.textutil import quoted, read_json
from tests.support.command import Command
from tests.support.rows import data_folder, riddle
from tests.support.scripted import run


@pytest.mark.parametrize(
    "text",
    ['{"a": 1, "a": 1}', '[{"b": {"a": 1, "a": 2}}]', "[" * 100_000, "{", "1" * 5000, "[" + "1," * 4_000_000 + "1]"],
    ids=["twice", "twice within", "deep", "cut", "digits", "many"],
)
def test_what_is_refused(text):
    with pytest.raises(ValueError):
        read_json(text)


def test_what_is_read():
    assert read_json(b'\xef\xbb\xbf{"a": [1, {"a": null}]}') == {"a": [1, {"a": None}]}


def twice(file, key):
    """Write the first occurrence of a key a second time."""
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace(f'"{key}":', f'"{key}": 0, "{key}":', 1), encoding="utf-8")


def test_a_key_that_occurs_twice_is_an_issue_everywhere(tmp_path, mera_ru: Command):
    run(tmp_path / "results", ["riddles_sample"], limit=4)
    (samples,), (results,) = (list((tmp_path / "results").rglob(name)) for name in ("samples_*", "results_*"))
    twice(samples, "doc_id")
    told = mera_ru("score", "results")
    assert "the key 'doc_id' occurs twice" in told.err
    twice(results, "model_name")
    told = mera_ru("score", "results")
    assert told.status == 1 and "the key 'model_name' occurs twice" in told.err
    root = data_folder(tmp_path, "riddles", [riddle(1)])
    twice(root / "riddles" / "test.json", "outputs")
    told = mera_ru("data", "check", root)
    assert told.status == 1 and "the key 'outputs' occurs twice" in told.out
    with zipfile.ZipFile("a.zip", "w") as archive:
        archive.writestr("Riddles.json", '{"data": {"test": [{"outputs": "а", "outputs": "б", "meta": {"id": 1}}]}}')
    told = mera_ru("submit", "--check", "a.zip")
    assert told.status == 1 and "the key 'outputs' occurs twice" in told.out


def test_quoted_values_and_messages_are_cut():
    assert quoted("x" * 10**7) == f"'{'x' * 58}…" and quoted({"a": 1}) == "{'a': 1}"
    assert "abcdef" not in quoted("token=abcdefgh")
    issue = Issue("code", "error", "place", "m" * 10**7, "hint")
    assert len(str(issue)) < 1100 and str(issue).endswith(". hint")
    error = MeraRuError("head " + "m" * 10**7 + " tail")
    assert str(error).startswith("head ") and str(error).endswith(" tail") and len(str(error)) < 1100


def test_few_issues_of_a_kind_are_listed():
    issues = [Issue("many", "error", str(number), "m") for number in range(1000)] + [Issue("one", "note", "x", "m")]
    listed = shortened(issues)
    assert [issue.code for issue in listed].count("many") == 101 and listed[100].code == "one"
    assert "900 more" in listed[-1].message and listed[-1].location == "999"
    assert json.dumps([issue.as_json() for issue in shortened(issues[:5])]) == json.dumps(
        [issue.as_json() for issue in issues[:5]]
    )
