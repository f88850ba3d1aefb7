"""A custom task, and a run of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from tests.support.rows import Row, data_folder
from tests.support.scripted import run


def row(identity: int, outputs: str | None, **meta: Any) -> Row:
    return {
        "instruction": "Вопрос {question}? Буквы {А, Б}.",
        "inputs": {"question": f"номер {identity}"},
        "outputs": outputs,
        "meta": {"id": identity, **meta},
    }


def task_folder(root: Path, **settings: Any) -> Path:
    """Write a folder with the task `own`. Settings without our prefix are lm-eval's own."""
    folder = root / "tasks"
    folder.mkdir(exist_ok=True)
    ours = {name: value for name, value in settings.items() if name.startswith("mera_ru_")}
    others = {name: value for name, value in settings.items() if name not in ours}
    text = yaml.safe_dump({"task": "own", "dataset_kwargs": ours, "metadata": {"version": 2.0}, **others})
    (folder / "own.yaml").write_text(text + "class: !function mera_ru_tasks.CustomTask\n", encoding="utf-8")
    return folder


def run_custom(
    tmp_path: Path, rows: list[Row], answer: Any, shots: list[Row] | None = (), **settings: Any
) -> dict[str, Any]:  # type: ignore[assignment]
    root = data_folder(tmp_path, "own", rows, shots)
    asked = {name: settings.pop(name) for name in ("num_fewshot", "limit") if name in settings}
    folder = task_folder(tmp_path, mera_ru_path=str(root / "own"), **settings)
    return run(None, ["own"], answer, task_folders=[folder], **asked)
