"""Synthetic datasets in the authors' layout: valid rows of meaningless syllables, the same on every call."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mera_ru_tasks.data.benchmarks import ENANTIOSEMY, RIDDLES_CLOSED, RIDDLES_OPEN, RUSSIAN_REGIONS, Benchmark

LEADERBOARD = (ENANTIOSEMY, RIDDLES_CLOSED, RUSSIAN_REGIONS)
PROMPTS_PER_TYPE = 5

_FOLDERS = {
    ENANTIOSEMY.name: "Enantiosemy",
    RIDDLES_CLOSED.name: "Riddles",
    RIDDLES_OPEN.name: "riddles_open",
    RUSSIAN_REGIONS.name: "RussianRegions",
}
_OPENINGS = ("Вот задание.", "Реши задачу.", "Нужен ответ на вопрос.", "Подумай и ответь.", "Прочти и выбери.")


def write_data(
    root: Path,
    *,
    answers: bool = True,
    rows_per_type: int | None = None,
    shots_per_type: int = 3,
    benchmarks: tuple[Benchmark, ...] = LEADERBOARD,
    seed: int = 0,
) -> Path:
    """Write a data folder that MERA_RU_DATA can name.

    Args:
        root: the data folder, which gets a folder for each benchmark.
        answers: True if the test rows contain their references. Shots always do.
        rows_per_type: the number of test rows of each type. By default, the numbers in the data cards (506, 500, 603
            rows).
        shots_per_type: the number of shots of each type.
        benchmarks: the benchmarks to write.
        seed: the seed of the texts.

    Returns:
        `root`.
    """
    for benchmark in benchmarks:
        folder = root / _FOLDERS[benchmark.name]
        folder.mkdir(parents=True, exist_ok=True)
        test, shots = make_rows(benchmark, rows_per_type=rows_per_type, shots_per_type=shots_per_type, seed=seed)
        if not answers:
            test = [{**row, "outputs": ""} for row in test]
        write_json(folder / "test.json", {"data": test})
        write_json(folder / "shots.json", {"data": shots})
        write_json(folder / "dataset_meta.json", {"dataset_name": benchmark.title, "prompts": make_prompts(benchmark)})
    return root


def write_json(file: Path, content: Any) -> None:
    """Write `content` in the format of the authors' files."""
    file.write_text(json.dumps(content, ensure_ascii=False, indent=1), encoding="utf-8")


def make_prompts(benchmark: Benchmark) -> list[Any]:
    """Return five prompts for each type, in the order of types. Prompts of RussianRegions consist of blocks."""
    return [
        _prompt(benchmark, kind, f"{opening} Вид {kind or 1}.") for kind in benchmark.formats for opening in _OPENINGS
    ]


def make_rows(
    benchmark: Benchmark, *, rows_per_type: int | None = None, shots_per_type: int = 3, seed: int = 0
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the test rows and the shots with consecutive ids. `instruction` is an index into `make_prompts`."""
    maker = random.Random(f"{benchmark.name} {seed}")
    sizes = {kind: rows_per_type or size for kind, size in benchmark.test_size.items()}
    test = list(_rows(benchmark, sizes, 1, 0, maker))
    groups = max(sizes.values())
    shots = list(_rows(benchmark, dict.fromkeys(sizes, shots_per_type), len(test) + 1, groups, maker))
    return test, shots


def with_prompt_text(benchmark: Benchmark, row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with the prompt as text and its blocks in the inputs, as on the hub and in users' copies."""
    prompt = make_prompts(benchmark)[row["instruction"]]
    if isinstance(prompt, str):
        return {**row, "instruction": prompt}
    blocks = {name: text for name, text in prompt.items() if isinstance(text, str) and name != "instruction"}
    return {**row, "instruction": prompt["instruction"], "inputs": {**blocks, **row["inputs"]}}


def _rows(
    benchmark: Benchmark, sizes: Mapping[int | None, int], first_id: int, first_group: int, maker: random.Random
) -> Iterator[dict[str, Any]]:
    identity = first_id
    for position, (kind, size) in enumerate(sizes.items()):
        for number in range(size):
            inputs, outputs = _CONTENT[benchmark.title.split()[0]](kind, maker)
            meta = {"id": identity}
            if benchmark.type_field:
                meta[benchmark.type_field] = kind
            if benchmark.grouped:
                meta["group_id"] = first_group + number
            index = position * PROMPTS_PER_TYPE + number % PROMPTS_PER_TYPE
            yield {"instruction": index, "inputs": inputs, "outputs": outputs, "meta": meta}
            identity += 1


def _enantiosemy(kind: int | None, maker: random.Random) -> tuple[dict[str, str], str]:
    inputs = {"text": f"— {_sentence(maker, 9)}\n— {_sentence(maker, 7)}", "enantiosemic_word": _word(maker)}
    inputs |= {f"option_{letter}": _sentence(maker, 5) for letter in "abcdef"}
    right = sorted(maker.sample("АБВГДЕ", maker.choice((1, 1, 1, 2, 2, 3, 4, 5))))
    return inputs, "; ".join(right)


def _riddle(kind: int | None, maker: random.Random) -> tuple[dict[str, str], str]:
    accepted = dict.fromkeys(_word(maker) for _ in range(maker.randint(1, 11)))
    return {"question": _sentence(maker, 8)}, "; ".join(accepted)


def _region(kind: int | None, maker: random.Random) -> tuple[dict[str, str], str]:
    options = [_sentence(maker, 8) for _ in range(4)]
    right = maker.randrange(4)
    inputs = {f"option_{letter}": option for letter, option in zip("abcd", options, strict=True)}
    if kind == 2:
        inputs |= {"lang_unit": _word(maker), "example_text": _sentence(maker, 8)}
    elif kind == 3:
        inputs |= {"lang_unit": _word(maker), "region": _word(maker).capitalize()}
    unit = "" if kind == 1 else f"; {options[right].split()[2]}"
    return inputs, "АБВГ"[right] + unit


_CONTENT = {"Enantiosemy": _enantiosemy, "Riddles": _riddle, "RussianRegions": _region}


def _prompt(benchmark: Benchmark, kind: int | None, opening: str) -> Any:
    if benchmark.name == ENANTIOSEMY.name:
        options = "\n".join(f"{letter}. {{option_{name}}}" for letter, name in zip("АБВГДЕ", "abcdef", strict=True))
        rule = "Буквы из {А, Б, В, Г, Д, Е} после «Ответ:»."
        return {"type": kind, "instruction": f"{opening} {rule}\n{{text}}\nСлово: {{enantiosemic_word}}\n{options}"}
    if not benchmark.type_field:
        return f"{opening} Загадка:\n{{question}}\nСтрока ответа начинается с «Ответ:»."
    extra = {1: "", 2: "\nЕдиница: {lang_unit}. {example_text}", 3: "\nЕдиница: {lang_unit} ({region})"}[kind or 1]
    options = "\n".join(f"{letter}. {{option_{name}}}" for letter, name in zip("АБВГ", "abcd", strict=True))
    return {
        "task_type": kind,
        "instruction": f"{{introduction}}\n{{task_formulation}}\n{{format_description}}{extra}\n{options}",
        "introduction": opening,
        "task_formulation": f"Выбери текст вида {kind}.",
        "format_description": "Одна буква из {А, Б, В, Г} после «Ответ:»." + ("" if kind == 1 else " Затем единица."),
    }


def _sentence(maker: random.Random, words: int) -> str:
    return " ".join(_word(maker) for _ in range(words)).capitalize() + "."


def _word(maker: random.Random) -> str:
    return "".join(
        maker.choice("бвгджзклмнпрстфхчш") + maker.choice("аеиоуыя") for _ in range(maker.choice((2, 2, 3, 3, 4)))
    )
