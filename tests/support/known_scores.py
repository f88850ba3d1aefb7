"""Known responses with known scores, and helpers that read the results of runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.rows import Row, data_folder, enantiosemy, region, riddle
from tests.support.scripted import Answer

BASES = ("enantiosemy", "riddles_closed", "russian_regions")

GROUPS = {
    "mera_ru": BASES,
    "mera_ru_shots": tuple(f"{base}_shots" for base in BASES),
    "mera_ru_prefill": tuple(f"{base}_prefill" for base in BASES),
    "mera_ru_sample": ("enantiosemy_sample", "riddles_sample", "russian_regions_sample"),
    "mera_ru_sample_prefill": (
        "enantiosemy_sample_prefill", "riddles_sample_prefill", "russian_regions_sample_prefill",
    ),
    "mera_ru_rank": tuple(f"{base}_rank" for base in BASES),
    "mera_ru_shots_rank": tuple(f"{base}_shots_rank" for base in BASES),
    "mera_ru_sample_rank": ("enantiosemy_sample_rank", "riddles_sample_rank", "russian_regions_sample_rank"),
}  # fmt: skip

# The chance levels of ranked options that are the same for every document.
RANKING_CHANCE = {
    "auc": 1 / 2, "acc": 1 / 10, "acc_bytes": 1 / 10,
    "cloze_acc_bytes": 1 / 4, "cloze_acc": 1 / 4, "letter_acc": 1 / 4,
}  # fmt: skip

# The ranking tasks: on the test data, on the shots, on the sample data.
RANKED = (*GROUPS["mera_ru_rank"], *GROUPS["mera_ru_shots_rank"], *GROUPS["mera_ru_sample_rank"])
SCORED = (*BASES, *GROUPS["mera_ru_shots"], *GROUPS["mera_ru_prefill"], "riddles_open")
SAMPLES = (*GROUPS["mera_ru_sample"], *GROUPS["mera_ru_sample_prefill"], "riddles_open_sample")

# For each benchmark: its rows, the response to each row, and all expected scores.
ENANTIOSEMY = [
    (enantiosemy(1, "А; Е"), "Ответ: А; Е"),
    (enantiosemy(2, "А; Е"), "Ответ: **Е, А**"),
    (enantiosemy(3, "А; Е"), "Ответ: А"),
    (enantiosemy(4, "Б"), "Не знаю."),
    (enantiosemy(5, "Б"), None),
]

RIDDLES = [
    (riddle(1, "Снег; Первый снег"), "Ответ: первый снег"),
    (riddle(2, "Снег; Первый снег"), "Это просто.\n\n**Ответ:** «Снег» (белый)"),
    (riddle(3, "Снег"), "Ответ: дождь"),
    (riddle(4, "Снег"), ""),
]

REGIONS = [
    (region(1, "А", group=0), "Ответ: А"),
    (region(2, "Б; файл", group=0, kind=2), "Ответ: Б; файл"),
    (region(3, "В; вехотка", group=0, kind=3), "Ответ: В; Вехотка."),
    (region(4, "А", group=1), "Ответ: А"),
    (region(5, "Б; файл", group=1, kind=2), "Ответ: Б) файл"),
    (region(6, "В; вехотка", group=1, kind=3), "Ответ: B; вехотка"),
    (region(7, "А", group=2), "Ответ: А"),
    (region(8, "Б; файл", group=2, kind=2), "Ответ: Б; папка"),
    (region(9, "В; вехотка", group=2, kind=3), "Ответ: Г; вехотка"),
]

CASES = {"enantiosemy": ENANTIOSEMY, "riddles_closed": RIDDLES, "riddles_open": RIDDLES, "russian_regions": REGIONS}

EXPECTED: dict[str, dict[str, float]] = {
    "enantiosemy": {
        "exact_match,strict-match": 1 / 5,
        "exact_match,flexible-extract": 2 / 5,
        "f1,flexible-extract": (1 + 1 + 2 / 3) / 5,
        "answered,flexible-extract": 3 / 5,
    },
    "riddles_closed": {
        "exact_match,strict-match": 1 / 4,
        "exact_match_plain,strict-match": 1 / 4,
        "exact_match,flexible-extract": 2 / 4,
        "answered,flexible-extract": 3 / 4,
    },
    "russian_regions": {
        "exact_match,strict-match": 6 / 9,
        "group_exact_match,strict-match": 1 / 3,
        "exact_match,flexible-extract": 7 / 9,
        "group_exact_match,flexible-extract": 2 / 3,
        "letter_match,flexible-extract": 8 / 9,
        "answered,flexible-extract": 9 / 9,
    },
}
EXPECTED["riddles_open"] = EXPECTED["riddles_closed"]


def base_of(task: str) -> str:
    return next(base for base in (*BASES, "riddles_open") if task.startswith(base))


def answer_of(cases: list[tuple[Row, str | None]]) -> Answer:
    """Create a model that gives the responses in the cases. After a prefilled marker, it does not repeat the marker."""
    by_id = {row["meta"]["id"]: response for row, response in cases}

    def answer(doc: Mapping[str, Any], prompt: str) -> str | None:
        response = by_id[doc["meta"]["id"]]
        return response.removeprefix("Ответ:") if response and prompt.endswith("\nОтвет:") else response

    return answer


def known_folder(root: Path, *, in_shots: bool = False) -> Path:
    """Return the rows of all benchmarks in the split that the task scores."""
    for base, cases in CASES.items():
        rows = [row for row, _ in cases]
        closed = [{**row, "outputs": "", "meta": {**row["meta"], "id": 99}} for row in rows[:1]]
        data_folder(root, base, *((closed, rows) if in_shots else (rows, ())))
    return root
