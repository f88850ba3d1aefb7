"""The sample data: counts, balance, and no guesser that knows no Russian scores above chance."""

import json
import re
from collections import Counter

import pytest
from scipy.stats import binom

from mera_ru_tasks.data.benchmarks import BENCHMARKS, ENANTIOSEMY, RIDDLES_CLOSED, RIDDLES_OPEN, RUSSIAN_REGIONS
from mera_ru_tasks.data.load import find_source
from mera_ru_tasks.data.schema import check_rows
from mera_ru_tasks.paths import sample_folder
from mera_ru_tasks.scoring.normalize import normalize

OPTIONS = {"enantiosemy": "abcdef", "russian_regions": "abcd"}
LETTERS = "АБВГДЕ"


def rows_of(benchmark, split="test"):
    splits, issues = find_source(benchmark, sample_folder()).read()
    assert not issues
    return splits[split][1]


def options_of(row):
    return [row["inputs"][f"option_{name}"] for name in "abcdef" if f"option_{name}" in row["inputs"]]


def right_of(row):
    """Return the positions of the correct options."""
    letters = row["outputs"].split("; ")
    return {LETTERS.index(letter) for letter in letters if letter in LETTERS}


@pytest.mark.parametrize("benchmark", BENCHMARKS.values(), ids=lambda benchmark: benchmark.name)
def test_the_checks_find_nothing(benchmark):
    splits, issues = find_source(benchmark, sample_folder()).read()
    assert [*issues, *check_rows(splits, benchmark)] == []
    assert all(row["outputs"] for _, rows in splits.values() for row in rows)


@pytest.mark.parametrize(
    ("benchmark", "test", "shots"), [(ENANTIOSEMY, 60, 6), (RIDDLES_CLOSED, 60, 5), (RUSSIAN_REGIONS, 60, 6)]
)
def test_sizes(benchmark, test, shots):
    assert len(rows_of(benchmark)) == test
    assert len(rows_of(benchmark, "shots")) == shots
    ids = [row["meta"]["id"] for split in ("test", "shots") for row in rows_of(benchmark, split)]
    assert ids == list(range(1, test + shots + 1))


def test_riddles_open_size_and_sources():
    rows = rows_of(RIDDLES_OPEN)
    assert len(rows) == 40
    # Printed before 1917, so these texts are in the public domain.
    years = [int(re.search(r"\b1[78]\d\d|19[01]\d\b", row["meta"]["source"])[0]) for row in rows]
    assert max(years) < 1917


def test_enantiosemy_counts():
    rows = rows_of(ENANTIOSEMY)
    assert Counter(row["meta"]["type"] for row in rows) == {1: 30, 2: 18, 3: 6, 4: 6}
    assert Counter(row["meta"]["type"] for row in rows_of(ENANTIOSEMY, "shots")) == {1: 2, 2: 2, 3: 1, 4: 1}
    words = Counter(row["inputs"]["enantiosemic_word"] for row in rows)
    assert len(words) >= 30
    assert max(words.values()) <= 3
    sizes = Counter(len(right_of(row)) for row in rows)
    assert set(sizes) == {1, 2, 3, 4}
    assert min(sizes.values()) >= 8
    letters = Counter(position for row in rows for position in right_of(row))
    assert len(letters) == 6
    assert max(letters.values()) - min(letters.values()) <= 4


def test_riddles_counts():
    rows = rows_of(RIDDLES_CLOSED)
    answers = [len(row["outputs"].split("; ")) for row in rows]
    assert sum(n == 1 for n in answers) >= 12
    assert sum(n >= 3 for n in answers) >= 20
    firsts = [row["outputs"].split("; ")[0] for split in ("test", "shots") for row in rows_of(RIDDLES_CLOSED, split)]
    firsts += [row["outputs"].split("; ")[0] for row in rows_of(RIDDLES_OPEN)]
    assert len(set(firsts)) == len(firsts)


def test_russian_regions_counts():
    rows = rows_of(RUSSIAN_REGIONS)
    groups = Counter(row["meta"]["group_id"] for row in rows)
    assert len(groups) == 20
    assert {(row["meta"]["group_id"], row["meta"]["task_type"]) for row in rows} == {
        (group, kind) for group in groups for kind in (1, 2, 3)
    }
    for kind in (1, 2, 3):
        letters = Counter(min(right_of(row)) for row in rows if row["meta"]["task_type"] == kind)
        assert set(letters.values()) == {5}
    assert all(row["meta"]["source"] for row in rows)
    assert len({row["inputs"]["region"] for row in rows if row["inputs"].get("region")}) >= 8


@pytest.mark.parametrize("benchmark", [ENANTIOSEMY, RUSSIAN_REGIONS], ids=lambda benchmark: benchmark.name)
def test_a_unit_stands_in_the_right_option_and_no_option_twice(benchmark):
    options = [option for split in ("test", "shots") for row in rows_of(benchmark, split) for option in options_of(row)]
    assert len(set(options)) == len(options)
    for row in rows_of(benchmark):
        _, _, unit = row["outputs"].partition("; ")
        if benchmark is RUSSIAN_REGIONS and unit:
            chosen = options_of(row)[min(right_of(row))]
            assert len(re.findall(rf"\b{unit}\b", chosen, re.IGNORECASE)) == 1


@pytest.mark.parametrize("benchmark", BENCHMARKS.values(), ids=lambda benchmark: benchmark.name)
def test_five_prompts_a_type_spread_evenly_with_the_format_before_the_question(benchmark):
    rows = rows_of(benchmark)
    used = {}
    for row in rows:
        kind = row["meta"].get(benchmark.type_field)
        used.setdefault(kind, Counter())[row["instruction"], row["inputs"].get("format_description")] += 1
        prompt = row["instruction"].replace("{format_description}", row["inputs"].get("format_description", ""))
        assert "Ответ:" in prompt
        question = "{option_a}" if "{option_a}" in prompt else "{question}"
        assert prompt.index("Ответ:") < prompt.index(question)
        assert all(f"{{{name}}}" in row["instruction"] for name in row["inputs"]), "every input is shown"
    for prompts in used.values():
        assert len(prompts) == 5
        assert max(prompts.values()) - min(prompts.values()) <= 1


def test_some_prompts_hold_literal_braces():
    for benchmark in (ENANTIOSEMY, RUSSIAN_REGIONS):
        texts = [row["instruction"] + row["inputs"].get("format_description", "") for row in rows_of(benchmark)]
        assert any(re.search(r"\{А, ", text) for text in texts)


# --- guessers: each returns one position for a row ---


def longest(row):
    options = options_of(row)
    return max(range(len(options)), key=lambda i: len(options[i]))


def shortest(row):
    options = options_of(row)
    return min(range(len(options)), key=lambda i: len(options[i]))


def first(row):
    return 0


def last(row):
    return len(options_of(row)) - 1


def stems(text):
    return {word[:4] for word in normalize(text).split() if len(word) >= 4}


def keyword_overlap(row):
    question = stems(" ".join(text for name, text in row["inputs"].items() if not name.startswith("option_")))
    overlaps = [len(stems(option) & question) for option in options_of(row)]
    return overlaps.index(max(overlaps))


GUESSERS = [longest, shortest, first, last, keyword_overlap]


def within_chance(hits, trials, chance):
    low, high = binom.interval(0.99, trials, chance)
    return low <= hits <= high


@pytest.mark.parametrize("guess", GUESSERS)
def test_a_guesser_is_within_chance_on_enantiosemy(guess):
    rows = rows_of(ENANTIOSEMY)
    share = sum(len(right_of(row)) for row in rows) / (6 * len(rows))
    assert within_chance(sum(guess(row) in right_of(row) for row in rows), len(rows), share)
    exact = sum(right_of(row) == {guess(row)} for row in rows)
    single = sum(len(right_of(row)) == 1 for row in rows) / len(rows)
    assert exact <= binom.ppf(0.99, len(rows), single / 6)


@pytest.mark.parametrize("guess", GUESSERS)
@pytest.mark.parametrize("kind", [1, 2, 3])
def test_a_guesser_is_within_chance_on_russian_regions(guess, kind):
    rows = [row for row in rows_of(RUSSIAN_REGIONS) if row["meta"]["task_type"] == kind]
    assert within_chance(sum(right_of(row) == {guess(row)} for row in rows), len(rows), 1 / 4)


@pytest.mark.parametrize("benchmark", [ENANTIOSEMY, RUSSIAN_REGIONS], ids=lambda benchmark: benchmark.name)
def test_the_majority_letter_is_within_chance(benchmark):
    references = Counter(row["outputs"].split("; ")[0] for row in rows_of(benchmark))
    answers = Counter(tuple(sorted(right_of(row))) for row in rows_of(benchmark))
    if benchmark is RUSSIAN_REGIONS:
        assert set(references.values()) == {15}
    else:
        assert max(answers.values()) <= binom.ppf(0.99, 60, 20 / 60 / 6)


@pytest.mark.parametrize("benchmark", [RIDDLES_CLOSED, RIDDLES_OPEN], ids=lambda benchmark: benchmark.name)
def test_no_riddle_gives_its_answer_away_and_no_answer_serves_many(benchmark):
    rows = rows_of(benchmark)
    accepted = Counter(answer for row in rows for answer in {normalize(a) for a in row["outputs"].split(";")})
    assert max(accepted.values()) <= 2
    for row in rows:
        words = set(normalize(row["inputs"]["question"]).split())
        assert not words & {normalize(answer) for answer in row["outputs"].split(";")}


def test_right_and_wrong_options_are_of_one_length():
    for benchmark in (ENANTIOSEMY, RUSSIAN_REGIONS):
        lengths = {True: [], False: []}
        for row in rows_of(benchmark):
            for position, option in enumerate(options_of(row)):
                lengths[position in right_of(row)].append(len(option))
        means = {right: sum(values) / len(values) for right, values in lengths.items()}
        assert abs(means[True] / means[False] - 1) < 0.05


def test_the_files_are_in_the_authors_layout():
    for folder in sample_folder().iterdir():
        if not folder.is_dir():
            continue
        for path in folder.iterdir():
            content = json.loads(path.read_text(encoding="utf-8"))
            if path.name == "dataset_meta.json":
                assert content["license"] == "CC0-1.0"
            else:
                assert set(content) == {"data"}
