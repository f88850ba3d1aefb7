"""A comparison in the terminal, in files and as plots."""

import csv
import io
import json
import re

import pytest

from mera_ru_tasks.compare.compare import compare_runs
from mera_ru_tasks.compare.render import short_names
from mera_ru_tasks.scoring.metrics import FLEXIBLE, STRICT
from tests.support.comparisons import (
    MIDDLE,
    SAMPLE_TASKS,
    STRONG_LABEL,
    TASK,
    WEAK,
    edit_json,
    log_file,
    results_file,
)
from tests.support.scripted import run


def test_all_formats_show_the_same_scores(results, mera_ru):
    data = json.loads(mera_ru("compare", results, "--format", "json").out)
    lines = list(csv.DictReader(io.StringIO(mera_ru("compare", results, "--format", "csv").out)))
    scores = [line for line in lines if line["kind"] == "score"]
    assert [float(line["value"]) for line in scores] == [row["score"]["value"] for row in data["scores"]]
    markdown, table = mera_ru("compare", results, "--format", "markdown").out, mera_ru("compare", results, "--all").out
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
    latex = mera_ru("compare", copied, "--format", "latex").out
    assert r"=cmd()|\textless{}b\textgreater{}`x`{[}red{]}" in latex


def test_characters_that_files_cannot_hold_and_json_cannot_spell(copied, mera_ru, tmp_path):
    edit_json(results_file(copied, WEAK), lambda content: content.update(model_name="half\ud800 line\x85\u2066"))
    shown = json.loads(mera_ru("compare", copied, "--format", "json").out)
    assert "half\ud800 line\x85\u2066" in [model["label"] for model in shown["models"]]
    for ending in ("json", "csv", "md", "tex", "html"):
        outcome = mera_ru("compare", copied, "-o", tmp_path / f"x.{ending}")
        assert (outcome.status, (tmp_path / f"x.{ending}").stat().st_size > 1000) == (0, True), outcome.err


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t=", "\n=", "\r="])
def test_no_name_is_a_formula(copied, mera_ru, start):
    edit_json(results_file(copied, WEAK), lambda content: content.update(model_name=f"{start}1+1"))
    lines = list(csv.DictReader(io.StringIO(mera_ru("compare", copied, "--format", "csv").out)))
    assert any("1+1" in line["model"] for line in lines)
    assert not any(line["model"].lstrip()[:1] in tuple("=+-@") for line in lines)


def test_files_are_written_where_the_ending_says_and_never_over_others(results, mera_ru, tmp_path):
    for ending, start in (
        (".md", "### Verdict"),
        (".csv", "kind,"),
        (".json", "{"),
        (".tex", "% "),
        (".html", "<!doctype html>"),
    ):
        file = tmp_path / f"comparison{ending}"
        outcome = mera_ru("compare", results, "-o", file)
        assert outcome.status == 0, outcome.err
        assert file.read_text(encoding="utf-8").startswith(start)
        # The terminal shows only the primary measures, so that earlier output stays visible.
        assert outcome.out.startswith("Mean over the tasks")
        assert len(outcome.out.splitlines()) < 25
        again = mera_ru("compare", results, "-o", file)
        assert (again.status, "--force" in again.err) == (1, True)
        file.write_text("mine", encoding="utf-8")
        assert mera_ru("compare", results, "-o", file, "--force").status == 0
        assert file.read_text(encoding="utf-8").startswith(start)


def test_plots_are_written_as_png_and_svg(copied, mera_ru, tmp_path):
    edit_json(results_file(copied, WEAK), lambda content: content.update(model_name="$\\frac{1}{0}$ <script>"))
    logs = [log_file(copied, model, "riddles_sample") for model in (WEAK, MIDDLE)]
    outcome = mera_ru("compare", *logs, "--plots", tmp_path / "plots")
    assert outcome.status == 0, outcome.err
    main = {f"scores_riddles_sample_exact_match_strict-match.{ending}" for ending in ("png", "svg")}
    assert {file.name for file in (tmp_path / "plots").iterdir()} == main
    assert mera_ru("compare", *logs, "--plots", tmp_path / "all", "--all").status == 0
    every = {file.name for file in (tmp_path / "all").iterdir()}
    assert every > main | {"within_format_riddles_sample.svg", "scores_riddles_sample_answered_flexible-extract.png"}
    svg = (tmp_path / "plots" / "scores_riddles_sample_exact_match_strict-match.svg").read_text(encoding="utf-8")
    assert "$\\frac{1}{0}$ &lt;script" in svg
    again = mera_ru("compare", *logs, "--plots", tmp_path / "plots")
    assert (again.status, "already exists" in again.err) == (1, True)


def test_plots_without_matplotlib_name_the_extra(results, mera_ru, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    outcome = mera_ru("compare", results, "--plots", tmp_path / "plots")
    assert (outcome.status, 'pip install "mera-ru-tasks[report]"' in outcome.err) == (1, True)


@pytest.mark.parametrize(
    "arguments", [["--format", "html"], ["-o", "x.html", "--format", "csv"], ["-o", "x.txt"], ["--format", "pdf"], []]
)
def test_mistakes_in_the_command_line_end_with_2(results, mera_ru, arguments):
    paths = [results] if arguments else []
    assert mera_ru("compare", *paths, *arguments).status == 2


def test_sample_tasks_are_all_there(results):
    assert compare_runs([results]).tasks == ["enantiosemy_sample", "riddles_sample", TASK, "riddles_open_sample"]
    assert len(SAMPLE_TASKS) == 2


@pytest.fixture
def narrow(monkeypatch):
    """Create a terminal with 80 columns and no colours."""
    for name, value in {"COLUMNS": "80", "FORCE_COLOR": "1", "TERM": "dumb"}.items():
        monkeypatch.setenv(name, value)


def test_a_terminal_of_80_columns_breaks_no_number(copied, mera_ru, narrow):
    long = "organization/a-model-with-a-very-long-name-and-a-version-1.4b-instruct"
    edit_json(results_file(copied, WEAK), lambda content: content.update(model_name=long))
    lines = re.sub(r"\x1b\[[0-9;]*m", "", mera_ru("compare", copied).out).splitlines()
    assert max(map(len, lines)) <= 80
    data = json.loads(mera_ru("compare", copied, "--format", "json").out)
    shown = "\n".join(lines)
    for row in data["means"]:
        if row["filter"] == STRICT:
            assert f"[{row['score']['low']:.3f}, {row['score']['high']:.3f}]" in shown
    # The verdict comes last, and no interval is split between lines.
    assert any("is better than" in line for line in lines[-6:])
    assert all(line.count("[") == line.count("]") for line in lines)


@pytest.mark.parametrize(
    ("models", "short"),
    [
        (["org/a", "org/b"], ["a", "b"]),
        (["x/a", "y/a"], ["x/a", "y/a"]),
        (["a"], ["a"]),
        (["org/a-long-name-of-a-family-of-models-1b", "org/a-long-name-of-a-family-of-models-7b"], ["…1b", "…7b"]),
    ],
)
def test_names_are_short_where_they_stay_different(models, short):
    assert list(short_names(models).values()) == short


def test_what_holds_for_all_rows_is_said_once(copied, mera_ru):
    for model in (MIDDLE, WEAK):
        edit_json(results_file(copied, model), lambda content: content.update(system_instruction="Думай."))
    out = mera_ru("compare", copied, "--baseline", STRONG_LABEL).out
    assert out.count("not compared with") == 1
    assert f"{MIDDLE}, {WEAK} not compared with" in out


def test_more_is_shown_with_all(results, mera_ru):
    default, everything = mera_ru("compare", results).out, mera_ru("compare", results, "--all").out
    assert (FLEXIBLE in default, FLEXIBLE in everything) == (False, True)
    assert len(everything) > 2 * len(default)


def test_a_note_that_several_models_have_is_said_once(tmp_path, mera_ru):
    for model in ("org/one", "org/other"):
        run(tmp_path / "results", ["mera_ru_sample"], model=model, limit=12)
    shown = mera_ru("compare", tmp_path / "results").out
    assert sorted(line for line in shown.splitlines() if line.startswith("†")) == [
        f"† org/one, org/other: 12 of 60 documents of {task}."
        for task in ("enantiosemy_sample", "riddles_sample", "russian_regions_sample")
    ]
