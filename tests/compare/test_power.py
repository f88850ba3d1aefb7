"""Compare the predicted power with simulated evaluations that compare every document."""

import numpy as np
import pytest

from mera_ru_tasks.compare import power as planning
from mera_ru_tasks.compare.power import Size
from mera_ru_tasks.compare.stats import mean_of_differences, paired_difference

EVALUATIONS = 800
# The defaults of `mera-ru power`.
LUCK = {"agreement": 0.5, "icc": 0.2}


def simulated(sizes, accuracy, difference, agreement, icc):
    """Return the share of simulated evaluations in which `compare`'s functions detect the difference."""
    rng = np.random.default_rng(11)
    found = 0
    for _ in range(EVALUATIONS):
        parts = []
        for size in sizes:
            shape = (size.clusters, size.in_cluster)

            def luck(shape=shape):
                own, common = rng.random(shape), rng.random((shape[0], 1))
                return np.where(rng.random(shape) < icc**0.5, common, own) if shape[1] > 1 else own

            base = luck()
            other = np.where(rng.random(shape) < agreement, base, luck())
            clusters = np.repeat(np.arange(shape[0]), shape[1]) if shape[1] > 1 else None
            values = ((other < accuracy + difference) * 1.0, (base < accuracy) * 1.0)
            parts.append(paired_difference(*(one.ravel() for one in values), clusters))
        found += mean_of_differences(parts).p < 0.05
    return found / EVALUATIONS


@pytest.mark.parametrize(
    ("sizes", "accuracy", "difference", "agreement", "icc"),
    [
        ([Size(60)], 0.3, 0.15, 0.5, 0.0),
        ([Size(500)], 0.02, 0.02, 0.5, 0.0),
        ([Size(20, 3)], 0.5, 0.2, 0.5, 0.5),
        ([Size(506), Size(500), Size(201, 3)], 0.4, 0.03, 0.5, 0.2),
        ([Size(60), Size(40), Size(20, 3)], 0.7, 0.1, 0.2, 0.2),
    ],
    ids=str,
)
def test_predicted_and_simulated_power_agree(sizes, accuracy, difference, agreement, icc):
    predicted = planning.power(sizes, accuracy, difference, agreement=agreement, icc=icc)
    # 3 points, plus the uncertainty of this number of simulations.
    noise = 2 * (predicted * (1 - predicted) / EVALUATIONS) ** 0.5
    assert abs(predicted - simulated(sizes, accuracy, difference, agreement, icc)) < 0.03 + noise


def test_the_detectable_difference_is_found_in_80_percent():
    sizes = [Size(100), Size(30, 3)]
    seen = planning.detectable(sizes, 0.4, **LUCK)
    assert planning.power(sizes, 0.4, seen, **LUCK) == pytest.approx(0.8, abs=0.01)
    assert planning.detectable(sizes, 0.4, comparisons=6, **LUCK) > seen
    assert planning.detectable([Size(12)], 0.95, **LUCK) is None


@pytest.mark.parametrize("accuracy", [0.02, 0.3, 0.5])
def test_what_a_comparison_could_detect_is_what_was_predicted(accuracy):
    rng, sizes = np.random.default_rng(3), [Size(500), Size(201, 3)]
    seen = []
    for _ in range(60):
        parts = []
        for size in sizes:
            base, other = planning.draw_luck(rng, (1, size.clusters, size.in_cluster), **LUCK)
            clusters = np.repeat(np.arange(size.clusters), size.in_cluster)
            parts.append(paired_difference(*((one < accuracy).ravel() * 1.0 for one in (base, other)), clusters))
        seen.append(mean_of_differences(parts).detectable)
    assert planning.power(sizes, accuracy, float(np.mean(seen)), **LUCK) == pytest.approx(0.8, abs=0.03)


def test_the_documents_needed_are_enough_and_not_many_more():
    enough = planning.needed([Size(50), Size(10, 3)], 0.5, 0.1, **LUCK)
    assert planning.power(enough, 0.5, 0.1, **LUCK) >= 0.8
    fewer = [size.scaled(0.9) for size in enough]
    assert planning.power(fewer, 0.5, 0.1, **LUCK) < 0.8
    assert planning.needed([Size(50)], 0.5, 0.0005, **LUCK) is None


def test_the_command_says_what_a_run_can_see(mera_ru):
    outcome = mera_ru("power", "60", "20x3", "--accuracy", "0.3", "--difference", "0.1")
    assert outcome.status == 0, outcome.err
    first, second, third = outcome.out.splitlines()
    assert first.startswith("With 60 + 20x3 documents and an accuracy of 0.3, a comparison can detect ")
    assert "10 points" in second
    assert "x3 documents" in third


@pytest.mark.parametrize(
    "arguments", [["9"], ["0x3"], ["many"], ["60", "--accuracy", "0.9", "--difference", "0.2"], ["60x0"]]
)
def test_mistakes_are_named(mera_ru, arguments):
    outcome = mera_ru("power", *arguments)
    assert (outcome.status, outcome.out.count("Traceback")) == (2, 0)


@pytest.mark.parametrize(
    ("arguments", "share"),
    [
        (["power", "--difference", "3"], "0.03"),
        (["power", "--accuracy", "50"], "0.5"),
        (["power", "--agreement", "70"], "0.7"),
        (["compare", ".", "--margin", "2"], "0.02"),
        (["compare", ".", "--margin", "-1"], None),
        (["power", "--difference", "0"], None),
        (["power", "--difference", "300"], None),
        (["power", "--icc", "nan"], None),
        (["power", "--accuracy", "half"], None),
    ],
)
def test_points_instead_of_a_share(mera_ru, arguments, share):
    outcome = mera_ru(*arguments)
    assert outcome.status == 2 and arguments[-2] in outcome.err
    assert (f"write {share} for" in outcome.err) if share else "write" not in outcome.err
