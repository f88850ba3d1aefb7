"""Reading the rows of a benchmark from a local folder, in every form that people keep them in.

A folder holds, for each split, one of `test.json` (`{"data": [rows]}`, the authors' form), `test.jsonl`,
`test.parquet` (also in the hub's sharded naming and its `data/` folder) or a `save_to_disk` copy.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mera_ru_tasks.benchmarks import Benchmark
from mera_ru_tasks.checks import Problem
from mera_ru_tasks.errors import DataError

SPLITS = ("test", "shots")


def benchmark_folder(root: Path, benchmark: Benchmark) -> Path:
    """The folder of `benchmark` in the data folder `root`, whatever the case of its name.

    Raises:
        DataError: `root` is no folder, or holds no such folder, or more than one.
    """
    if not root.is_dir():
        what = "is a file" if root.exists() else "does not exist"
        raise DataError(f"The data folder {root} {what}. {_where_from(benchmark)}")
    found = sorted(path for path in root.iterdir() if path.is_dir() and path.name.lower() in benchmark.folders)
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(path.name for path in found)
        raise DataError(f"{root} holds several folders for {benchmark.title}: {names}. Keep one of them.")
    names = ", ".join(sorted(path.name for path in root.iterdir())[:20]) or "nothing"
    wanted = " or ".join(f"`{name}`" for name in dict.fromkeys((benchmark.name, benchmark.title)))
    raise DataError(
        f"The data folder {root} has no folder {wanted} for {benchmark.title}; it holds: {names}. "
        f"{_where_from(benchmark)}"
    )


def _where_from(benchmark: Benchmark) -> str:
    remedy = f"Put the benchmark's files into a folder `{benchmark.name}` in it"
    return remedy + (", or unset MERA_RU_DATA to use the hub dataset." if benchmark.hub else ".")


def read_splits(folder: Path) -> dict[str, tuple[str, list[Any]]]:
    """Read the splits that `folder` holds.

    Returns:
        For each split found, the file's path as text and its rows, with prompts put in for their indices.

    Raises:
        DataError: a file cannot be read or is no such file, or a split is there twice.
    """
    found: dict[str, tuple[str, list[Any]]] = {}
    saved = _read_saved(folder)
    for split in SPLITS:
        paths = _candidates(folder, split)
        if split in saved:
            paths.append(folder)
        if len(paths) > 1 and len({path.suffix for path in paths} | {path.parent for path in paths}) > 2:
            names = ", ".join(str(path.relative_to(folder)) if path != folder else "a saved dataset" for path in paths)
            raise DataError(f"{folder} holds the split `{split}` more than once: {names}. Keep one of them.")
        if split in saved:
            found[split] = (f"{folder} (saved dataset, split {split})", saved[split])
        elif paths:
            rows = [row for path in paths for row in _read_file(path)]
            found[split] = (str(paths[0]), rows)
    return found


def _candidates(folder: Path, split: str) -> list[Path]:
    single = [folder / f"{split}{suffix}" for suffix in (".json", ".jsonl", ".parquet")]
    shards = [path for place in (folder, folder / "data") for path in sorted(place.glob(f"{split}-*-of-*.parquet"))]
    return [path for path in single if path.is_file()] + shards


def _read_file(path: Path) -> list[Any]:
    if path.suffix == ".parquet":
        return _read_parquet(path)
    text = _read_text(path)
    if path.suffix == ".jsonl":
        lines = text.split("\n")
        return [_parse(line, path, number) for number, line in enumerate(lines, start=1) if line.strip()]
    content = _parse(text, path, 1)
    rows = content.get("data") if isinstance(content, Mapping) else content
    if not isinstance(rows, list):
        raise DataError(f'{path} holds no rows. Write it as {{"data": [row, …]}}.')
    return rows


def _read_text(path: Path) -> str:
    raw = path.read_bytes()
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        guess = "UTF-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "CP1251"
        raise DataError(
            f"{path} is not UTF-8: byte {error.start}, line {line}. "
            f"Convert it, for instance with `iconv -f {guess} -t UTF-8`."
        ) from error


def _parse(text: str, path: Path, first_line: int) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        line = first_line + error.lineno - 1
        raise DataError(
            f"{path} is not valid JSON: line {line}, column {error.colno}: {error.msg}. Mend the file there."
        ) from error
    except RecursionError as error:
        raise DataError(f"{path}, line {first_line}: the JSON is nested too deeply to be a benchmark's row.") from error


def _read_parquet(path: Path) -> list[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        rows: list[Any] = pq.read_table(path).to_pylist()
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path} is not a readable Parquet file: {error}. Make or fetch it again.") from error
    return rows


def _read_saved(folder: Path) -> dict[str, list[Any]]:
    """The splits of a `save_to_disk` copy: a saved `DatasetDict`, or a saved `Dataset` in a folder for each split."""
    saved = [folder] if (folder / "dataset_dict.json").is_file() else []
    single = [folder / split for split in SPLITS if (folder / split / "state.json").is_file()]
    if not (saved or single):
        return {}
    import datasets

    try:
        if saved:
            loaded = datasets.load_from_disk(str(folder))
            return {split: loaded[split].to_list() for split in SPLITS if split in loaded}
        return {path.name: datasets.load_from_disk(str(path)).to_list() for path in single}
    except (OSError, ValueError, KeyError) as error:
        raise DataError(f"{folder} is not a readable saved dataset: {error}. Save it again.") from error


def fill_in_prompts(
    splits: Mapping[str, tuple[str, list[Any]]], folder: Path
) -> tuple[dict[str, tuple[str, list[Any]]], list[Problem]]:
    """Replace each `instruction` that is an index into the `prompts` of `dataset_meta.json` by that prompt.

    A prompt is a string, or an object with `instruction` and further text blocks; the blocks fill the inputs of the
    same name where a row has none.

    Returns:
        The splits with prompts, and a problem for each index that names none.
    """
    indexed = any(_is_index(row) for _, rows in splits.values() for row in rows)
    prompts = _read_prompts(folder / "dataset_meta.json") if indexed else []
    problems: list[Problem] = []

    def filled(place: str, rows: list[Any]) -> Iterator[Any]:
        for number, row in enumerate(rows, start=1):
            if not _is_index(row):
                yield row
                continue
            index = row["instruction"]
            if not 0 <= index < len(prompts):
                what = f"dataset_meta.json has no prompt {index}, its prompts are 0 to {len(prompts) - 1}"
                problems.append(Problem(place, number, None, "instruction", what, "Use one of these indices."))
                yield {**row, "instruction": "-"}
                continue
            yield _with_prompt(row, prompts[index])

    return {split: (place, list(filled(place, rows))) for split, (place, rows) in splits.items()}, problems


def _with_prompt(row: Mapping[str, Any], prompt: Any) -> dict[str, Any]:
    if isinstance(prompt, str):
        return {**row, "instruction": prompt}
    blocks = {name: text for name, text in prompt.items() if isinstance(text, str) and name != "instruction"}
    inputs = row.get("inputs")
    if isinstance(inputs, Mapping):
        inputs = {**blocks, **{name: value for name, value in inputs.items() if value or name not in blocks}}
    return {**row, "instruction": prompt["instruction"], "inputs": inputs}


def _is_index(row: Any) -> bool:
    index = row.get("instruction") if isinstance(row, Mapping) else None
    return isinstance(index, int) and not isinstance(index, bool)


def _read_prompts(path: Path) -> list[Any]:
    if not path.is_file():
        raise DataError(
            f"{path} is missing, but rows name their prompt by its index there. "
            "Add the file, or write the prompt itself into `instruction`."
        )
    content = _parse(_read_text(path), path, 1)
    prompts = content.get("prompts") if isinstance(content, Mapping) else None
    good = isinstance(prompts, list) and all(
        isinstance(prompt.get("instruction") if isinstance(prompt, Mapping) else prompt, str) for prompt in prompts
    )
    if not good:
        raise DataError(
            f"{path}, field `prompts`: it is not a list of prompts. "
            "Each prompt is a string or an object with `instruction`."
        )
    return list(prompts or [])
