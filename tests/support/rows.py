"""Short rows of each benchmark, and folders that contain them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Row = dict[str, Any]

OPTIONS = "А. {option_a}\nБ. {option_b}\nВ. {option_c}\nГ. {option_d}"


def enantiosemy(identity: int, outputs: str | None = "А; Е", **meta: Any) -> Row:
    """Return a row whose answer is several of six letters."""
    return {
        "instruction": "Слово «{enantiosemic_word}». Буквы из {А, Б, В, Г, Д, Е}.\n{text}\n"
        + OPTIONS
        + "\nД. {option_e}\nЕ. {option_f}",
        "inputs": {
            "text": f"Текст {identity}.",
            "enantiosemic_word": "одолжить",
            **{f"option_{letter}": f"Конец {letter}{identity}." for letter in "abcdef"},
        },
        "outputs": outputs,
        "meta": {"id": identity, "type": 1, **meta},
    }


def riddle(identity: int, outputs: str | None = "Снег; Первый снег", **meta: Any) -> Row:
    """Return a row whose answer is a word or phrase."""
    return {
        "instruction": "Отгадай. Строка ответа: «Ответ: слово».\n{question}",
        "inputs": {"question": f"Загадка {identity}?"},
        "outputs": outputs,
        "meta": {"id": identity, **meta},
    }


def region(identity: int, outputs: str | None = "Б", *, group: int = 0, kind: int = 1, **meta: Any) -> Row:
    """Return a row whose answer is one of four letters, followed by a language unit if `kind` is 2 or 3."""
    extra = {1: {}, 2: {"lang_unit": "мультифора", "example_text": "Вот пример."}, 3: {"region": "Томск"}}[kind]
    shown = "".join(f"{{{name}}}\n" for name in extra)
    return {
        "instruction": "{task_formulation}\n" + shown + OPTIONS,
        "inputs": {
            "task_formulation": f"Задание {identity}.",
            **extra,
            **{f"option_{letter}": f"Текст {letter}{identity}." for letter in "abcd"},
        },
        "outputs": outputs,
        "meta": {"id": identity, "group_id": group, "task_type": kind, **meta},
    }


def data_folder(
    root: Path, benchmark: str, test: Sequence[Any], shots: Sequence[Any] | None = (), prompts: Sequence[Any] = ()
) -> Path:
    """Write a benchmark in the authors' layout to the data folder `root`. If `shots` is None, omit that split."""
    folder = root / benchmark
    folder.mkdir(parents=True, exist_ok=True)
    for split, rows in (("test", test), ("shots", shots)):
        if rows is not None:
            (folder / f"{split}.json").write_text(json.dumps({"data": list(rows)}), encoding="utf-8")
    if prompts:
        (folder / "dataset_meta.json").write_text(json.dumps({"prompts": list(prompts)}), encoding="utf-8")
    return root
