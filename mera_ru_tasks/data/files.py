"""Read the rows of a benchmark from a local folder, in any common file format.

A folder contains each split in one of these formats: `test.json` (`{"data": [rows]}`, the authors' format),
`test.jsonl`, `test.parquet` (or shards named as on the hub, also in a folder `data`), or a `save_to_disk` copy.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mera_ru_tasks.data.benchmarks import Benchmark
from mera_ru_tasks.data.schema import row_id, rule_issue
from mera_ru_tasks.issues import DataError, Issue, Location
from mera_ru_tasks.paths import LARGEST_FILE, expanded, read_bounded
from mera_ru_tasks.textutil import read_json

SPLITS = ("test", "shots")
# The maximum number of rows, so that checking them ends. No benchmark has more.
MAX_ROWS = 100_000


def benchmark_folder(root: Path, benchmark: Benchmark) -> Path:
    """Return the folder of a benchmark in the data folder `root`; the case of the folder's name is ignored.

    Raises:
        DataError: `root` is not a folder, or does not contain exactly one folder of the benchmark.
    """
    _must_be_folder(root, _where_from(benchmark))
    for parent in data_folders(root):
        found = sorted(path for path in parent.iterdir() if path.is_dir() and path.name.lower() in benchmark.folders)
        if found:
            break
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(path.name for path in found)
        raise DataError(f"{root} contains several folders for {benchmark.title}: {names}. Keep one of them.")
    names = ", ".join(sorted(path.name for path in root.iterdir())[:20]) or "nothing"
    wanted = " or ".join(f"`{name}`" for name in dict.fromkeys((benchmark.name, benchmark.title)))
    raise DataError(
        f"The data folder {root} has no folder {wanted} for {benchmark.title}; it contains {names}. "
        f"{_where_from(benchmark)}"
    )


def data_folders(root: Path) -> list[Path]:
    """Return the folders that may contain the benchmarks: the data folder and, as in a repository, `data` in it."""
    return [folder for folder in (root, root / "data") if folder.is_dir()]


def dataset_folder(path: Path) -> Path:
    """Return the folder of a custom task's dataset, with `~` expanded; raise DataError if it is not a folder."""
    folder = expanded(path)
    start = "" if folder.is_absolute() else f" Relative paths start at the current folder, {Path.cwd()}."
    _must_be_folder(folder, f"Set `mera_ru_path` to the folder that contains test.json.{start}")
    return folder


def _must_be_folder(path: Path, hint: str) -> None:
    if not path.is_dir():
        what = "is a file" if path.exists() else "does not exist"
        raise DataError(f"The data folder {path} {what}. {hint}")


def _where_from(benchmark: Benchmark) -> str:
    hint = f"Put the files of the benchmark into a folder `{benchmark.name}` there"
    return hint + (", or unset MERA_RU_DATA to use the hub dataset." if benchmark.hub else ".")


def read_splits(folder: Path) -> tuple[dict[str, tuple[str, list[Any]]], list[Issue]]:
    """Read the splits in a folder.

    Returns:
        A mapping from each split to the path of its file and its unchanged rows, and a list of warnings.

    Raises:
        DataError: a file cannot be read or has another format, a shard is missing, or a split occurs twice.
    """
    found: dict[str, tuple[str, list[Any]]] = {}
    issues: list[Issue] = []
    saved = _read_saved(folder)
    for split in SPLITS:
        forms = _forms(folder, split)
        if split in saved:
            forms["a saved dataset"] = []
        if len(forms) > 1:
            raise DataError(
                f"{folder} contains the split `{split}` more than once: {', '.join(forms)}. Keep one of them."
            )
        for name, paths in forms.items():
            if split in saved:
                found[split] = (f"{folder} (saved dataset, split {split})", saved[split])
            else:
                found[split] = (str(folder / name), [row for path in paths for row in _read_file(path, issues)])
    return found, issues


def _forms(folder: Path, split: str) -> dict[str, list[Path]]:
    """Return a mapping from each file format of a split in `folder` to the files, in order."""
    single = (folder / f"{split}{suffix}" for suffix in (".json", ".jsonl", ".parquet"))
    forms = {path.name: [path] for path in single if path.is_file()}
    for location in (folder, folder / "data"):
        shards = sorted(path for path in location.glob(f"{split}-*-of-*.parquet") if path.is_file())
        if shards:
            name = re.sub(r"-\d+-of-", "-*-of-", str(shards[0].relative_to(folder)))
            forms[name] = _whole(shards, folder / name)
    return forms


def _whole(shards: list[Path], name: Path) -> list[Path]:
    """Return the shards, or raise DataError if one is missing, because the score would then be wrong."""
    wanted = int(shards[0].stem.rpartition("-")[2]) if shards[0].stem.rpartition("-")[2].isdecimal() else 0
    split = shards[0].name.partition("-")[0]
    if len(shards) != wanted or [shard.name for shard in shards] != [
        f"{split}-{part:05}-of-{wanted:05}.parquet" for part in range(wanted)
    ]:
        raise DataError(
            f"{name}: the names of the files say that there are {wanted} of them, not {len(shards)}. "
            "Fetch the missing files, or keep only one set."
        )
    return shards


def _read_file(path: Path, issues: list[Issue]) -> list[Any]:
    if path.suffix == ".parquet":
        return _read_parquet(path)
    text = _read_text(path)
    if path.suffix == ".jsonl":
        lines = text.split("\n")
        _check_row_count(path, len(lines))
        return [_parse(line, path, number) for number, line in enumerate(lines, start=1) if line.strip()]
    content = _parse(text, path)
    rows = content.get("data") if isinstance(content, Mapping) else content
    if not isinstance(rows, list):
        raise DataError(f'{path} contains no rows. Write the rows as {{"data": [row, …]}}.')
    _check_row_count(path, len(rows))
    if further := sorted(content.keys() - {"data"}) if isinstance(content, Mapping) else []:
        message = f"it has other keys besides `data`: {', '.join(further)}"
        issues.append(Issue("further-keys", "warning", Location(str(path)), message, "They are ignored."))
    return rows


def _check_row_count(path: Path, rows: int) -> None:
    if rows > MAX_ROWS:
        raise DataError(f"{path} has {rows:,} rows; at most {MAX_ROWS:,} can be used. Split the data.")


def _read_text(path: Path) -> str:
    try:
        raw = read_bounded(path)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}. Correct the file or its permissions.") from error
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data":
            raise DataError(f"{path} ends inside a character, so it is incomplete. Copy it again.") from error
        line = raw.count(b"\n", 0, error.start) + 1
        guess = "UTF-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in raw[:4] else "CP1251"
        raise DataError(
            f"{path} is not UTF-8: byte {error.start}, line {line}. "
            f"Convert it, for example with `iconv -f {guess} -t UTF-8`."
        ) from error


def _parse(text: str, path: Path, line: int | None = None) -> Any:
    """Parse the JSON text of a file, or of line number `line` in the file."""
    location = f"{path}, line {line}" if line else str(path)
    try:
        return read_json(text)
    except json.JSONDecodeError as error:
        raise DataError(
            f"{path} is not valid JSON: line {(line or 1) + error.lineno - 1}, column {error.colno}: {error.msg}. "
            "Correct the file."
        ) from error
    except ValueError as error:
        # Python raises a plain ValueError for an integer with too many digits.
        why = "a number has too many digits" if "integer string" in str(error) else str(error)
        raise DataError(f"{location}: {why}. Correct the file there.") from error


def _read_parquet(path: Path) -> list[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        stored = pq.ParquetFile(path).metadata
        _check_row_count(path, stored.num_rows)
        size = sum(stored.row_group(group).total_byte_size for group in range(stored.num_row_groups))
        if size > LARGEST_FILE:
            raise DataError(f"{path} unpacks to {size >> 20} MiB, more than any real file of its kind. Split the data.")
        rows: list[Any] = pq.read_table(path).to_pylist()
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path} is not a readable Parquet file: {error}. Create or fetch it again.") from error
    return rows


def _read_saved(folder: Path) -> dict[str, list[Any]]:
    """Read a `save_to_disk` copy, which is a `DatasetDict` or a folder with a `Dataset` for each split."""
    saved = [folder] if (folder / "dataset_dict.json").is_file() else []
    single = [folder / split for split in SPLITS if (folder / split / "state.json").is_file()]
    if not (saved or single):
        return {}
    import datasets

    try:
        if saved:
            loaded = datasets.load_from_disk(str(folder))
            splits = {split: loaded[split] for split in SPLITS if split in loaded}
        else:
            splits = {path.name: datasets.load_from_disk(str(path)) for path in single}
        for split in splits.values():
            _check_row_count(folder, split.num_rows)
        return {name: split.to_list() for name, split in splits.items()}
    except DataError:
        raise
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:  # it does not validate its files
        raise DataError(f"{folder} is not a readable saved dataset: {error}. Save it again.") from error


def fill_in_prompts(
    splits: dict[str, tuple[str, list[Any]]], prompts: Sequence[Any], origin: str, *, in_turn: bool = False
) -> tuple[dict[str, tuple[str, list[Any]]], list[Issue]]:
    """Replace each `instruction` that is an index into the prompts with the prompt.

    A prompt is a string, or an object with `instruction` and other text blocks. A block fills the input with the same
    name if the input is missing or empty in a row.

    Args:
        splits: the rows as they are stored.
        prompts: the prompts.
        origin: the file or setting that contains the prompts, for messages.
        in_turn: True to also assign the prompts, in turn, to rows without an instruction.

    Returns:
        The splits with the prompts filled in, and an issue for each invalid index.
    """
    known = f"it has prompts 0 to {len(prompts) - 1}" if prompts else "it contains no prompts"
    filled: dict[str, tuple[str, list[Any]]] = {}
    issues: list[Issue] = []
    for split, (file, rows) in splits.items():
        filled[split] = (file, [])
        for number, row in enumerate(rows, start=1):
            lacks_prompt = in_turn and isinstance(row, Mapping) and not (row.get("instruction") or _is_index(row))
            index = (number - 1) % len(prompts) if lacks_prompt else row["instruction"] if _is_index(row) else None
            if index is None:
                filled[split][1].append(row)
            elif 0 <= index < len(prompts):
                filled[split][1].append(_with_prompt(row, prompts[index]))
            else:
                location = Location(file, number, row_id(row), "instruction")
                message = f"{origin} has no prompt {index}; {known}"
                hint = "Correct the index, or write the prompt itself in `instruction`."
                issues.append(rule_issue("unknown-prompt", location, message, hint))
                filled[split][1].append({**row, "instruction": "-"})
    return filled, issues


def has_prompt_indices(splits: Mapping[str, tuple[str, list[Any]]]) -> bool:
    """Return True if a row refers to its prompt by an index."""
    return any(_is_index(row) for _, rows in splits.values() for row in rows)


def read_prompts(folder: Path) -> list[Any]:
    """Read the prompts in the dataset_meta.json of a folder.

    Raises:
        DataError: the file is missing or does not contain a list of prompts.
    """
    path = folder / "dataset_meta.json"
    if not path.is_file():
        raise DataError(
            f"{path} is missing, but rows refer to prompts in it by index. "
            "Add the file, or write the prompt itself in `instruction`."
        )
    content = _parse(_read_text(path), path)
    prompts = content.get("prompts") if isinstance(content, Mapping) else None
    if not are_prompts(prompts):
        raise DataError(
            f"{path}, field `prompts`: it is not a list of prompts. "
            "Write each prompt as a string or an object with `instruction`."
        )
    return list(prompts or [])


def are_prompts(value: Any) -> bool:
    """Return True if the value is a list in which each prompt is a string or an object with `instruction`."""
    return isinstance(value, list) and all(
        isinstance(prompt.get("instruction") if isinstance(prompt, Mapping) else prompt, str) for prompt in value
    )


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
