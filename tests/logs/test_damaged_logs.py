"""No command takes a wrong number from a damaged log without marking it.

Every number that a command shows must equal that of the undamaged logs, be marked as incomplete, or be absent with an
issue that gives the reason.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from mera_ru_tasks.cli import app
from mera_ru_tasks.compare.compare import compare_runs
from mera_ru_tasks.compare.html import build
from mera_ru_tasks.issues import RunError
from mera_ru_tasks.logs.find import find_logs
from mera_ru_tasks.logs.sidecar import INCOMPLETE_MARK
from mera_ru_tasks.paths import LONGEST_LINE
from mera_ru_tasks.submission.pack import prepare
from tests.support.comparisons import skilled
from tests.support.judge_stub import StubJudge
from tests.support.scripted import run
from tests.support.synthetic import write_data

TASK, OTHER = "russian_regions", "riddles_closed"
MODELS = {"org/one": 0.3, "org/two": 0.7}

# A number that a command shows, by its measure, and whether the number is marked.
Shown = Mapping[tuple[str, ...], tuple[float, bool]]
Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run two models on two tasks."""
    folder = tmp_path_factory.mktemp("damage") / "results"
    data = write_data(folder.parent / "data", rows_per_type=20)
    for model, skill in MODELS.items():
        run(folder, [TASK, OTHER], skilled(skill), model=model, data=data)
    return folder


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory):
    """Return the environment of a judge that gives the same verdict on the same question."""
    with StubJudge() as stub:
        cache = tmp_path_factory.mktemp("judge") / "judge.sqlite"
        names = {"API_BASE": stub.url, "MODEL": "stub", "API_KEY": "sentinel-key-5f1e", "CACHE": str(cache)}
        yield {f"LM_EVAL_JUDGE_{name}": value for name, value in names.items()}


class Logs:
    """Copy the runs. A test damages the log of the first model on TASK."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = self.of("org__one", TASK)
        self.results = next((folder / "org__one").glob("results_*.json"))

    def of(self, model: str, task: str) -> Path:
        """Return the sample log of a model and task."""
        return next((self.folder / model).glob(f"samples_{task}_*.jsonl"))

    def lines(self) -> list[bytes]:
        """Return the lines of the log."""
        return self.log.read_bytes().splitlines(keepends=True)

    def write(self, lines: list[bytes]) -> None:
        """Replace the lines of the log."""
        self.log.write_bytes(b"".join(lines))

    def edit(self, change: Callable[[Rows], Rows | None]) -> None:
        """Change the rows of the log, in place or by returning other rows."""
        rows = [json.loads(line) for line in self.lines()]
        rows = change(rows) or rows
        self.write([json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows])

    def restate(self, change: Callable[[dict[str, Any]], object]) -> None:
        """Change the results file."""
        content = json.loads(self.results.read_text(encoding="utf-8"))
        change(content)
        self.results.write_text(json.dumps(content), encoding="utf-8")


def score(logs: Logs) -> tuple[Shown, str]:
    """Return the numbers and messages of `mera-ru score`."""
    return _sidecar(CliRunner().invoke(app, ["score", str(logs.folder)]), logs, "scored_results_*.json")


def judge(logs: Logs, environment: Mapping[str, str]) -> tuple[Shown, str]:
    """Return the numbers and messages of `mera-ru judge`."""
    return _sidecar(CliRunner(env=environment).invoke(app, ["judge", str(logs.folder)]), logs, "judged_results_*.json")


def _sidecar(called: Any, logs: Logs, pattern: str) -> tuple[Shown, str]:
    assert called.exception is None or isinstance(called.exception, (RunError, SystemExit)), called.exception
    shown = {}
    for file in logs.folder.rglob(pattern):
        content = json.loads(file.read_text(encoding="utf-8"))
        for task, numbers in content["results"].items():
            marked = numbers["alias"].endswith(INCOMPLETE_MARK)
            for name, value in numbers.items():
                if "," in name and "_stderr" not in name:
                    assert numbers["alias"] in called.stdout, "the table is marked as well"
                    shown[content["model_name"], task, name] = value, marked
    notes = [line for line in called.stdout.splitlines() if line.startswith("Note: ")]
    return shown, "\n".join([called.stderr, str(called.exception or ""), *notes]).strip()


def compare(logs: Logs) -> tuple[Shown, str]:
    """Return the numbers and messages of `mera-ru compare` and its report."""
    try:
        comparison = compare_runs([logs.folder])
    except RunError as error:
        return {}, str(error)
    page = build(comparison)
    shown: dict[tuple[str, ...], tuple[float, bool]] = {}
    for row in (*comparison.rows, *comparison.means):
        name = (row.model, row.task, row.metric, row.filter)
        shown[name] = row.score.value, bool(row.incomplete)
        if row.difference is not None:
            shown[(*name, "difference")] = row.difference.estimate.value, bool(row.incomplete or row.notes)
    for part in comparison.slices:
        shown[part.model, part.task, part.by, part.part, part.filter] = part.score.value, False
    for gap in comparison.gaps:
        shown[gap.model, gap.task, gap.kind, gap.filter] = gap.value.value, False
    reasons = (one for row in comparison.rows for one in row.why_not)
    left_out = (choice for choice in comparison.choices if "left out" in str(choice))
    said = "\n".join(map(str, (*comparison.issues, *reasons, *left_out)))
    assert all(str(problem.location) in page for problem in comparison.issues)
    return shown, said


def submit(logs: Logs) -> tuple[Shown, str]:
    """Return the responses that `mera-ru submit --partial` would pack, and its messages.

    The data are smaller than the leaderboard's, so every submission is partial.
    """
    try:
        draft = prepare(find_logs([logs.folder]), model="org/one")
    except RunError as error:
        return {}, str(error)
    stopped = draft.stopped_by(partial=True)
    shown = {
        (part.benchmark.name, str(identity), sample.response): (0.0, False)
        for part in ([] if stopped else draft.answers)
        for identity, sample in part.samples.items()
    }
    return shown, "\n".join(map(str, draft.issues))


def check(shown: Shown, said: str, sound: Shown, damage: str) -> None:
    """Compare a command's output for damaged logs with its output for undamaged logs."""
    for name, (value, marked) in shown.items():
        if not marked:
            # A model without a results file is named after its folder.
            wanted = sound.get(name) or sound[(name[0].replace("__", "/"), *name[1:])]
            assert value == pytest.approx(wanted[0], abs=1e-12, nan_ok=True), (damage, name)
    if shown.keys() != sound.keys():
        assert said, (damage, "numbers are absent without a reason")


def _of_other_model(logs: Logs) -> Rows:
    return [json.loads(line) for line in logs.of("org__two", TASK).read_bytes().splitlines()]


def _mixed(rows: Rows, other: Rows) -> Rows:
    return [two if one["doc_id"] % 2 else one for one, two in zip(rows, other, strict=True)]


def _all_right(row: dict[str, Any]) -> dict[str, Any]:
    group = {"group_exact_match": [*row["group_exact_match"][:2], 1]}
    answer = f"Ответ: {row['doc']['outputs']}"
    filtered = answer if row["filter"] == "strict-match" else row["doc"]["outputs"]
    return {**row, "resps": [[answer]], "filtered_resps": [filtered], "exact_match": 1, **group}


def _set(rows: Rows, where: Callable[[dict[str, Any]], bool], **fields: Any) -> Rows:
    return [{**row, **fields} if where(row) else row for row in rows]


def _flexible(row: dict[str, Any]) -> bool:
    return bool(row["filter"] == "flexible-extract")


def _strict(row: dict[str, Any]) -> bool:
    return not _flexible(row)


def _change_docs(rows: Rows, change: Callable[[dict[str, Any]], object]) -> None:
    for row in rows:
        change(row["doc"])


DAMAGES: dict[str, Callable[[Logs], object]] = {
    "none": lambda logs: None,
    "an empty log": lambda logs: logs.write([]),
    "only blank lines": lambda logs: logs.write([b"\n"] * 9),
    "cut within a line": lambda logs: logs.log.write_bytes(logs.log.read_bytes()[:-300]),
    "cut in the middle": lambda logs: logs.log.write_bytes(logs.log.read_bytes()[: logs.log.stat().st_size // 2]),
    "cut at a line end": lambda logs: logs.write(logs.lines()[:-5]),
    "cut after one filter": lambda logs: logs.write(logs.lines()[:60]),
    "one filter's lines missing": lambda logs: logs.edit(lambda rows: [row for row in rows if _flexible(row)]),
    "half the documents missing": lambda logs: logs.edit(lambda rows: [row for row in rows if row["doc_id"] % 2]),
    "half the groups missing": lambda logs: logs.edit(
        lambda rows: [row for row in rows if row["doc"]["meta"]["group_id"] % 2]
    ),
    "wrong answers missing": lambda logs: logs.edit(lambda rows: [row for row in rows if row["exact_match"]]),
    "one line missing": lambda logs: logs.write(logs.lines()[1:]),
    "a line twice": lambda logs: logs.write([*logs.lines(), logs.lines()[0]]),
    "all lines twice": lambda logs: logs.write(logs.lines() * 2),
    "lines doubled with right answers": lambda logs: logs.edit(lambda rows: [*rows, *map(_all_right, rows)]),
    "right answers before the lines": lambda logs: logs.edit(lambda rows: [*map(_all_right, rows), *rows]),
    "another model's lines appended": lambda logs: logs.edit(lambda rows: [*rows, *_of_other_model(logs)]),
    "another model's lines before": lambda logs: logs.edit(lambda rows: [*_of_other_model(logs), *rows]),
    "half the lines from another model": lambda logs: logs.edit(lambda rows: _mixed(rows, _of_other_model(logs))),
    "the whole log from another model": lambda logs: logs.edit(lambda rows: _of_other_model(logs)),
    "another model's lines with other numbers": lambda logs: logs.edit(
        lambda rows: [*rows, *({**row, "doc_id": row["doc_id"] + 60} for row in _of_other_model(logs))]
    ),
    "another task's log": lambda logs: shutil.copy(logs.of("org__one", OTHER), logs.log),
    "another task's lines appended": lambda logs: logs.write(
        [*logs.lines(), *logs.of("org__one", OTHER).read_bytes().splitlines(keepends=True)]
    ),
    "the log under another task's name": lambda logs: logs.log.rename(
        logs.log.with_name(logs.log.name.replace(TASK, "russian_regions_shots"))
    ),
    "scores edited": lambda logs: logs.edit(lambda rows: _set(rows, lambda row: True, exact_match=1)),
    "one score edited": lambda logs: logs.edit(lambda rows: _set(rows, lambda row: row["doc_id"] == 3, exact_match=1)),
    "scores of two documents swapped": lambda logs: logs.edit(
        lambda rows: _set(_set(rows, lambda row: row["doc_id"] == 0, exact_match=0), lambda row: row["doc_id"] == 1,
                          exact_match=1)),
    "a score as text": lambda logs: logs.edit(lambda rows: _set(rows, lambda row: row["doc_id"] < 9, exact_match="1")),
    "a score above 1": lambda logs: logs.edit(lambda rows: _set(rows, lambda row: row["doc_id"] < 9, exact_match=2)),
    "scores removed": lambda logs: logs.edit(lambda rows: _set(rows, lambda row: True, metrics=[])),
    "groups edited": lambda logs: logs.edit(
        lambda rows: _set(rows, lambda row: True, group_exact_match=[0, 1, 1])),
    "responses edited": lambda logs: logs.edit(
        lambda rows: [{**row, "resps": [[f"Ответ: {row['doc']['outputs']}"]]} for row in rows]),
    "strict responses edited whole": lambda logs: logs.edit(
        lambda rows: [{**_all_right(row), "exact_match": row["exact_match"]} if _strict(row) else row for row in rows]),
    "responses edited in every place": lambda logs: logs.edit(
        lambda rows: [{**_all_right(row), "exact_match": row["exact_match"],
                       "group_exact_match": row["group_exact_match"]} for row in rows]),
    "extractions edited": lambda logs: logs.edit(lambda rows: _set(rows, _flexible, filtered_resps=["А"])),
    "references edited": lambda logs: logs.edit(
        lambda rows: _change_docs(rows, lambda doc: doc.update(outputs="А"))),
    "types edited": lambda logs: logs.edit(
        lambda rows: _change_docs(rows, lambda doc: doc["meta"].update(task_type=1))),
    "a document without fields": lambda logs: logs.edit(
        lambda rows: _change_docs(rows[:5], lambda doc: doc.pop("meta"))),
    "filters renamed": lambda logs: logs.edit(lambda rows: _set(rows, _strict, filter="flexible-extract")),
    "an unknown filter": lambda logs: logs.edit(lambda rows: _set(rows, _strict, filter="x")),
    "numbers of documents shifted": lambda logs: logs.edit(
        lambda rows: [{**row, "doc_id": row["doc_id"] + 1} for row in rows]),
    "lines in another order": lambda logs: logs.write(logs.lines()[::-1]),
    "noise within a line": lambda logs: logs.write([*logs.lines()[:7], b'{"doc_id": 7}\n', *logs.lines()[8:]]),
    "no UTF-8": lambda logs: logs.log.write_bytes(logs.log.read_bytes().replace("Ответ".encode(), b"\xff", 9)),
    "no results file": lambda logs: logs.results.unlink(),
    "a results file of another run": lambda logs: shutil.copy(
        next((logs.folder / "org__two").glob("results_*.json")), logs.results),
    "a results file without the task": lambda logs: logs.restate(lambda content: content["results"].pop(TASK)),
    "a results file without hashes": lambda logs: logs.restate(lambda content: content.pop("task_hashes")),
    "a results file with other scores": lambda logs: logs.restate(
        lambda content: content["results"][TASK].update({"exact_match,strict-match": 0.9})),
    "a results file with another count": lambda logs: logs.restate(
        lambda content: content["n-samples"][TASK].update(effective=30)),
    "a results file with another version": lambda logs: logs.restate(
        lambda content: content["versions"].update({TASK: 0.5})),
    "a broken results file": lambda logs: logs.results.write_bytes(b'{"results"'),
    "a line that is too long": lambda logs: logs.write(
        [logs.lines()[0][:-2] + b', "x": "' + b"a" * LONGEST_LINE + b'"}\n', *logs.lines()[1:]]),
    "an endless line": lambda logs: logs.write([*logs.lines()[:-1], b"a" * (2 * LONGEST_LINE + 5)]),
}  # fmt: skip


@pytest.fixture(scope="module")
def rescored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the undamaged logs, to which `sound` adds the files of `score` and `judge`."""
    return tmp_path_factory.mktemp("sound") / "results"


@pytest.fixture(scope="module")
def sound(results, environment, rescored) -> dict[str, Shown]:
    """Return the output of each command for the undamaged logs."""
    logs = Logs(Path(shutil.copytree(results, rescored)))
    shown = {"compare": compare(logs)[0], "submit": submit(logs)[0]}
    shown |= {"score": score(logs)[0], "judge": judge(logs, environment)[0]}
    shown["compare again"] = compare(logs)[0]
    assert all(shown.values())
    return shown


@pytest.mark.parametrize("damage", DAMAGES)
def test_no_wrong_number_without_a_mark(damage, results, environment, sound, tmp_path):
    logs = Logs(Path(shutil.copytree(results, tmp_path / "results")))
    DAMAGES[damage](logs)
    for name, (shown, said) in {
        "compare": compare(logs), "submit": submit(logs), "score": score(logs), "judge": judge(logs, environment),
    }.items():  # fmt: skip
        check(shown, said, sound[name], f"{name}: {damage}")
        if damage == "none":
            assert shown.keys() == sound[name].keys()
            assert not any(marked for _, marked in shown.values())
    check(*compare(logs), sound["compare again"], f"compare with the files of score and judge: {damage}")


class OwnFiles:
    """The files of `score` or `judge` for the first model. A test damages one of them."""

    def __init__(self, logs: Logs, kind: str) -> None:
        folder = logs.log.parent
        [self.results] = folder.glob(f"{kind}_results_*.json")
        [self.lines] = folder.glob(f"{kind}_*{TASK}_2*.jsonl")
        [self.other] = folder.glob(f"{kind}_*{OTHER}_2*.jsonl")
        [self.other_model] = (folder.parent / "org__two").glob(f"{kind}_*{TASK}_2*.jsonl")

    def edit(self, change: Callable[[list[bytes]], list[bytes]]) -> None:
        """Change the lines."""
        self.lines.write_bytes(b"".join(change(self.lines.read_bytes().splitlines(keepends=True))))

    def set_scores(self, where: Callable[[int], bool]) -> None:
        """Change scores to the best ones."""

        def right(line: bytes) -> bytes:
            row = json.loads(line)
            if where(row["doc_id"]):
                row["scores"] = {
                    name: [*part[:-1], 1] if isinstance(part, list) else 1 for name, part in row["scores"].items()
                }
            return json.dumps(row, ensure_ascii=False).encode() + b"\n"

        self.edit(lambda lines: list(map(right, lines)))

    def restate(self, change: Callable[[dict[str, Any]], object]) -> None:
        """Change the results file."""
        content = json.loads(self.results.read_text(encoding="utf-8"))
        change(content)
        self.results.write_text(json.dumps(content), encoding="utf-8")


OWN_DAMAGES: dict[str, Callable[[OwnFiles], object]] = {
    "empty": lambda files: files.edit(lambda lines: []),
    "cut within a line": lambda files: files.edit(lambda lines: [*lines[:-1], lines[-1][:9]]),
    "cut at a line end": lambda files: files.edit(lambda lines: lines[:-5]),
    "one line missing": lambda files: files.edit(lambda lines: lines[1:]),
    "lines doubled": lambda files: files.edit(lambda lines: [*lines, *lines[:9]]),
    "lines in another order": lambda files: files.edit(lambda lines: lines[::-1]),
    "a line that is too long": lambda files: files.edit(lambda lines: [*lines, b"a" * (LONGEST_LINE + 5)]),
    "scores edited": lambda files: files.set_scores(lambda doc_id: True),
    "one score edited": lambda files: files.set_scores(lambda doc_id: doc_id == 3),
    "another model's file": lambda files: shutil.copy(files.other_model, files.lines),
    "another task's file": lambda files: shutil.copy(files.other, files.lines),
    "half the lines from another model": lambda files: files.edit(
        lambda lines: [*lines[:30], *files.other_model.read_bytes().splitlines(keepends=True)[30:]]),
    "no results file": lambda files: files.results.unlink(),
    "a broken results file": lambda files: files.results.write_bytes(b'{"results"'),
    "a results file without hashes": lambda files: files.restate(lambda content: content.pop("task_hashes")),
    "a results file with another hash": lambda files: files.restate(
        lambda content: content["task_hashes"].update({TASK: content["task_hashes"][OTHER]})),
    "no file": lambda files: files.lines.unlink(),
}  # fmt: skip


@pytest.mark.parametrize("kind", ["scored", "judged"])
@pytest.mark.parametrize("damage", OWN_DAMAGES)
def test_no_wrong_number_from_a_damaged_score_file(damage, kind, environment, sound, rescored, tmp_path):
    logs = Logs(Path(shutil.copytree(rescored, tmp_path / "results")))
    files = OwnFiles(logs, kind)
    OWN_DAMAGES[damage](files)
    shown, said = compare(logs)
    numbers = {name: value for name, (value, _) in sound["compare again"].items()}
    assert {name: value for name, (value, _) in shown.items()} == {name: numbers[name] for name in shown}
    if damage != "no file":
        assert said, "the file is not used, and nothing says why"
    if kind == "judged":
        assert not any("judge stub" in name and name[:2] == ("org/one", TASK) for name in shown)
    # The command that wrote the file writes it again.
    again = score(logs) if kind == "scored" else judge(logs, environment)
    assert again[0] == sound["score" if kind == "scored" else "judge"]
    assert compare(logs)[0] == sound["compare again"]


def test_a_line_that_is_too_long_costs_no_other_log(results, environment, sound, tmp_path):
    logs = Logs(Path(shutil.copytree(results, tmp_path / "results")))
    logs.write([*logs.lines()[:-1], b"a" * (LONGEST_LINE + 5)])
    for name, (shown, said) in {
        "compare": compare(logs), "score": score(logs), "judge": judge(logs, environment),
    }.items():  # fmt: skip
        others = {key for key in sound[name] if key[:2] != ("org/one", TASK) and "difference" not in key}
        assert {key for key in others if len(key) < 5 and not key[1].startswith("mean")} <= shown.keys(), name
        assert logs.log.name in said
    assert logs.log.name in submit(logs)[1]


@st.composite
def edits(draw: st.DrawFn) -> Callable[[Rows, Rows], Rows]:
    """Draw random damage: rows of this log and of another model's log replace rows."""
    kind = draw(st.sampled_from(["drop", "double", "swap", "cut", "append", "replace", "edit", "rename"]))
    one, two = draw(st.integers(0, 119)), draw(st.integers(0, 119))
    low, high = min(one, two), max(one, two)
    field = draw(st.sampled_from(["exact_match", "resps", "filtered_resps", "filter", "doc_id", "doc_hash", "metrics"]))

    def damage(rows: Rows, other: Rows) -> Rows:
        low_, high_ = min(low, len(rows) - 1), min(high, len(rows) - 1)
        if low_ < 0:
            return rows
        if kind == "drop":
            return [*rows[:low_], *rows[high_ + 1 :]]
        if kind == "double":
            return [*rows, *rows[low_ : high_ + 1]]
        if kind == "swap":
            rows[low_], rows[high_] = rows[high_], rows[low_]
        if kind == "cut":
            return rows[:high_]
        if kind == "append":
            return [*rows, *other[low:high]]
        if kind == "replace":
            return [*rows[:low_], *other[low:high], *rows[high_:]]
        if kind == "edit" and field in rows[high_]:
            rows[low_] = {**rows[low_], field: rows[high_][field]}
        if kind == "rename":
            rows[low_] = {**rows[low_], "filter": rows[high_]["filter"]}
        return rows

    return damage


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damages=st.lists(edits(), min_size=1, max_size=3))
def test_random_damage_gives_no_wrong_number_without_a_mark(results, sound, tmp_path_factory, damages):
    logs = Logs(Path(shutil.copytree(results, tmp_path_factory.mktemp("random") / "results")))
    other = _of_other_model(logs)
    for damage in damages:
        logs.edit(lambda rows, damage=damage: damage(rows, other))
    for name, (shown, said) in {
        "compare": compare(logs), "submit": submit(logs), "score": score(logs),
    }.items():  # fmt: skip
        check(shown, said, sound[name], name)
