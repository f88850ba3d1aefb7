"""Helpers for the tests of submissions: change a log, and check archives independently of the package."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.restate import rehash, restate

SIZES = {"Enantiosemy.json": 506, "Riddles.json": 500, "RussianRegions.json": 603}
OTHER_DATE = "2020-01-02T03-04-05.000006"


def answer(doc, prompt):
    """Return a response that differs for each document. Some are long and some are empty."""
    identity = doc["meta"]["id"]
    return (
        ""
        if identity == 7
        else f"Рассуждаю о {identity}…\u2028\n\nОтвет: {doc['outputs'] or 'А'}" + " и" * (identity % 50)
    )


def first_problem(file: Path, test_ids: dict[str, set[int]]) -> str:
    """Return the errors that a scorer that knows only the format would report; empty if it would accept the archive."""
    with zipfile.ZipFile(file) as archive:
        if sorted(archive.namelist()) != sorted([*SIZES, "logs_public.zip"]) or archive.testzip():
            return f"entries: {archive.namelist()}"
        for name, ids in test_ids.items():
            rows = json.loads(archive.read(name).decode("utf-8"))["data"]["test"]
            if any(type(row["outputs"]) is not str for row in rows):
                return f"{name}: an output is no string"
            if any(type(row["meta"]["id"]) is not int for row in rows):
                return f"{name}: an id is no integer"
            if len(rows) != len(ids) or {row["meta"]["id"] for row in rows} != ids:
                return f"{name}: other ids"
        with zipfile.ZipFile(io.BytesIO(archive.read("logs_public.zip"))) as logs:
            names = logs.namelist()
            kinds = [sum(name.startswith(kind) for name in names) for kind in ("samples_", "results_")]
            return "" if kinds == [3, 1] and not logs.testzip() else f"logs: {names}"


def ids_of(data: Path) -> dict[str, set[int]]:
    rows = {name: json.loads((data / name[:-5] / "test.json").read_text())["data"] for name in SIZES}
    return {name: {row["meta"]["id"] for row in part} for name, part in rows.items()}


def responses(file: Path, name: str) -> dict[int, str]:
    with zipfile.ZipFile(file) as archive:
        return {row["meta"]["id"]: row["outputs"] for row in json.loads(archive.read(name))["data"]["test"]}


def rewrite(
    logs: Path, task: str, change: Callable[[dict[str, Any]], dict[str, Any] | list[dict[str, Any]] | None]
) -> None:
    """Change each row of a task's log. A row that becomes None is removed."""
    (file,) = logs.rglob(f"samples_{task}_*")
    rows = [change(json.loads(line)) for line in file.read_bytes().split(b"\n") if line]
    flat = [row for part in rows if part is not None for row in (part if isinstance(part, list) else [part])]
    file.write_bytes(b"".join(json.dumps(rehash(row)).encode() + b"\n" for row in flat))
    restate(file.parent)


def only_id(identity: int, change: Callable[[dict[str, Any]], Any]) -> Callable[[dict[str, Any]], Any]:
    return lambda row: change(row) if row["doc"]["meta"]["id"] == identity else row


def edit_results(logs: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    (file,) = logs.rglob("results_*")
    content = json.loads(file.read_text())
    change(content)
    file.write_text(json.dumps(content))


def move_to_other_run(logs: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Move the riddles to a separate run with other results."""
    (results,) = logs.rglob("results_*")
    (samples,) = logs.rglob("samples_riddles_*")
    content = json.loads(results.read_text())
    change(content)
    (results.parent / f"results_{OTHER_DATE}.json").write_text(json.dumps(content))
    samples.rename(samples.parent / f"samples_riddles_closed_{OTHER_DATE}.jsonl")


def pack(entries: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return stream.getvalue()


def unpack(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


# The nine tasks of MERA Text 2.0 that do not belong to this package, with their sizes.
OTHER_TASKS = {
    "Characters": 640, "GorillaHard": 1169, "Humor": 600, "IFHardBench": 1260, "LIMUR": 423, "NewReasoning": 370,
    "RUBIN": 783, "SAGE": 1000, "SOB-Hard": 825,
}  # fmt: skip


def mera_archive(good: dict[str, bytes], *, whole: bool) -> dict[str, bytes]:
    """Return an archive as MERA's packer builds it, with the responses of an archive of this package.

    Its logs have one filter, `scoring`, and MERA's task names. JSON is indented by 4, and responses have no leading
    white space. With `whole`, the archive also contains the other nine tasks.
    """
    logs = {}
    for name, content in unpack(good["logs_public.zip"]).items():
        for ours, theirs in (("riddles_closed", "riddles"), ("russian_regions", "russianregions")):
            name = name.replace(f"samples_{ours}_", f"samples_{theirs}_")
        content = content.replace(b'"resps": [["', b'"resps": [["\\n  ')  # white space that the packer removes
        logs[f"org__model/{name}"] = content.replace(b'"filter": "strict-match"', b'"filter": "scoring"')
    [log] = [content for name, content in logs.items() if "samples_riddles_" in name]
    line = json.loads(log.split(b"\n")[0])
    entries = {}
    for name in SIZES:
        rows = json.loads(good[name])["data"]["test"]
        stripped = [{"outputs": row["outputs"].lstrip(), "meta": {"id": row["meta"]["id"]}} for row in rows]
        entries[name] = json.dumps({"data": {"test": stripped}}, ensure_ascii=False, indent=4).encode()
    for title, size in OTHER_TASKS.items() if whole else ():
        rows = [{"outputs": f"{title} {number}", "meta": {"id": number}} for number in range(1, size + 1)]
        entries[f"{title}.json"] = json.dumps({"data": {"test": rows}}, ensure_ascii=False, indent=4).encode()
        samples = [
            {**line, "doc": {"meta": row["meta"]}, "resps": [[row["outputs"]]], "filtered_resps": [row["outputs"]]}
            for row in rows
        ]
        text = "".join(json.dumps(sample, ensure_ascii=False) + "\n" for sample in samples)
        logs[f"org__model/samples_{title.lower()}_{OTHER_DATE}.jsonl"] = text.encode()
    return {**entries, "logs_public.zip": pack(logs)}
