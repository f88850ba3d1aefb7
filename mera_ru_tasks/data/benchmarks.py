"""Define the names, fields, types and answer formats of each benchmark, as stated in the MERA dataset cards."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mera_ru_tasks.issues import DataError
from mera_ru_tasks.textutil import suggest


@dataclass(frozen=True)
class AnswerFormat:
    """The format of a document's answer. Extraction and scoring need no other information about a task.

    Attributes:
        choices: the option letters, in order; empty if the answer is a word or a phrase.
        max_choices: the largest number of letters in an answer; 0 for a phrase.
        with_phrase: True if a phrase follows the letter (`Б; лужа`).
        whole: True if a reference without letters is one text; False if it is a list of accepted answers, separated
            by `;`.
        options: the prefix of the names of the option inputs.
    """

    choices: str = ""
    max_choices: int = 0
    with_phrase: bool = False
    whole: bool = False
    options: str = "option_"

    @property
    def is_list(self) -> bool:
        """Return True if a reference is a list of accepted answers, separated by `;`."""
        return not self.choices and not self.whole

    def as_dict(self) -> dict[str, Any]:
        """Return the dictionary that documents store. Default values of `whole` and `options` are left out."""
        return {
            name: value
            for name, value in vars(self).items()
            if name not in ("whole", "options") or value != getattr(PHRASE, name)
        }

    @classmethod
    def of(cls, doc: Mapping[str, Any]) -> AnswerFormat:
        """Return the format that the loader stored in a document."""
        return _answer_format(**doc["answer_format"])

    def option_names(self, inputs: Iterable[str]) -> list[str]:
        """Return the names of the option inputs in the order of the letters, or an empty list if one is missing."""
        names = option_names(inputs, self.options)[: len(self.choices)]
        return names if len(names) == len(self.choices) else []


def option_names(inputs: Iterable[str], prefix: str) -> list[str]:
    """Return the names of the option inputs in alphabetical order."""
    return sorted(name for name in inputs if name.startswith(prefix))


# A run has only a few formats, but needs them several times for each document.
_answer_format = functools.lru_cache(AnswerFormat)

PHRASE = AnswerFormat()
TEXT = AnswerFormat(whole=True)
SEVERAL_OF_SIX = AnswerFormat("АБВГДЕ", max_choices=6)
ONE_OF_FOUR = AnswerFormat("АБВГ", max_choices=1)
ONE_OF_FOUR_WITH_UNIT = AnswerFormat("АБВГ", max_choices=1, with_phrase=True)


@dataclass(frozen=True)
class Benchmark:
    """A dataset of MERA Text 2.0, or a custom dataset in the same format (see `custom`).

    Attributes:
        name: the name in this package, which is also a name of the benchmark's folder in a data folder.
        title: the authors' name, which is also the name of their folder and of the submission file.
        hub: the name of the dataset on the Hugging Face hub; None if it is not on the hub.
        folders: the lower-case names that the benchmark's folder in a data folder may have.
        inputs: the names of the `inputs` fields that every row must fill.
        meta: the names of the integer `meta` fields that every row must have, besides `id`.
        type_field: the name of the `meta` field with the row's type; None if there are no types.
        formats: a mapping from types to answer formats. The key None applies to all other types, or for all rows if
            there are no types.
        test_size: a mapping from types to the numbers of test rows in the data card.
        path: the folder of a custom dataset, which contains the data files themselves.
        options: the prefix of the names of the option inputs, if the number of options differs between rows.
        has_text_types: True if types are strings, which only custom datasets can have.
        prompts: the prompts of a custom dataset, for rows without a prompt.
    """

    name: str
    title: str
    hub: str | None
    folders: tuple[str, ...]
    inputs: tuple[str, ...]
    meta: tuple[str, ...]
    type_field: str | None
    formats: Mapping[int | str | None, AnswerFormat]
    test_size: Mapping[int | None, int] = field(default_factory=dict)
    path: Path | None = None
    options: str = ""
    has_text_types: bool = False
    prompts: tuple[Any, ...] = ()

    @property
    def grouped(self) -> bool:
        """Return True if documents with the same `meta.group_id` are also scored as a group."""
        return "group_id" in self.meta


def _options(letters: str) -> tuple[str, ...]:
    return tuple(f"option_{letter}" for letter in letters)


ENANTIOSEMY = Benchmark(
    name="enantiosemy",
    title="Enantiosemy",
    hub="MERA-evaluation/Enantiosemy",
    folders=("enantiosemy",),
    inputs=("text", "enantiosemic_word", *_options("abcdef")),
    meta=("type",),
    type_field="type",
    formats=dict.fromkeys((1, 2, 3, 4), SEVERAL_OF_SIX),
    test_size={1: 290, 2: 188, 3: 18, 4: 10},
)
RIDDLES_CLOSED = Benchmark(
    name="riddles_closed",
    title="Riddles",
    hub="MERA-evaluation/Riddles",
    folders=("riddles_closed", "riddles"),
    inputs=("question",),
    meta=(),
    type_field=None,
    formats={None: PHRASE},
    test_size={None: 500},
)
RIDDLES_OPEN = Benchmark(
    name="riddles_open",
    title="Riddles (open set)",
    hub=None,
    folders=("riddles_open",),
    inputs=("question",),
    meta=(),
    type_field=None,
    formats={None: PHRASE},
    test_size={None: 500},
)
RUSSIAN_REGIONS = Benchmark(
    name="russian_regions",
    title="RussianRegions",
    hub="MERA-evaluation/RussianRegions",
    folders=("russian_regions", "russianregions"),
    inputs=("task_formulation", *_options("abcd")),
    meta=("group_id", "task_type"),
    type_field="task_type",
    formats={1: ONE_OF_FOUR, 2: ONE_OF_FOUR_WITH_UNIT, 3: ONE_OF_FOUR_WITH_UNIT},
    test_size={1: 201, 2: 201, 3: 201},
)

BENCHMARKS: Mapping[str, Benchmark] = {
    benchmark.name: benchmark for benchmark in (ENANTIOSEMY, RIDDLES_CLOSED, RIDDLES_OPEN, RUSSIAN_REGIONS)
}

# The benchmarks of a leaderboard submission. The open riddles are not among them, because they are only diagnostic.
LEADERBOARD = (ENANTIOSEMY, RIDDLES_CLOSED, RUSSIAN_REGIONS)

# The inputs of RussianRegions that, according to the data card, belong to the prompt and not to the question.
PROMPT_BLOCKS = ("introduction", "task_formulation", "format_description")

# The suffixes of task names: `sample` uses the shipped data, `prefill` ends the prompt with the marker, `shots` scores
# the split `shots`, and `rank` ranks the options instead of generating an answer.
VARIANTS = ("sample", "prefill", "shots", "rank")


def benchmark_of_task(task: str) -> tuple[Benchmark, tuple[str, ...]] | None:
    """Split the name of a task into its benchmark and variants.

    For example, `enantiosemy_sample_prefill` is Enantiosemy with the variants `sample` and `prefill`.

    Returns:
        The benchmark, and the variants in the order of the name; None if the task does not belong to this package.
    """
    base = task
    variants: list[str] = []
    while base.rpartition("_")[2] in VARIANTS:
        base, _, variant = base.rpartition("_")
        variants.insert(0, variant)
    if base == "riddles" and "sample" in variants:  # the shipped riddles belong to neither set
        base = RIDDLES_CLOSED.name
    return (BENCHMARKS[base], tuple(variants)) if base in BENCHMARKS else None


def scored_split(variants: Iterable[str]) -> str:
    """Return the split on which a task with these variants is scored."""
    return "shots" if "shots" in variants else "test"


def benchmark_named(name: str) -> Benchmark:
    """Return the benchmark with this name, or raise DataError if there is none."""
    if name not in BENCHMARKS:
        raise DataError(f"There is no benchmark {name!r}. {suggest(name, BENCHMARKS)}")
    return BENCHMARKS[name]
