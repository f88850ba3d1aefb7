"""Measure how fast 1,609 documents are loaded, converted to requests and checked, without imports.

The figures are compared with plain YAML tasks of lm-eval with the same prompts. `datasets` reads these from its warm
cache, and nothing checks them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks import Measurement, in_turns, median_seconds, seconds_of_call


def measurements() -> Iterator[Measurement]:
    """Yield the time of loading and building next to the target and to plain tasks, then the time of checking."""
    from benchmarks._runs import run_once
    from benchmarks._tasks import as_without_us, build, load_ours, load_plain, write_plain_from_logs
    from mera_ru_tasks.data.lint import check_data
    from mera_ru_tasks.data.load import find_sources
    from tests.support.synthetic import write_data

    with tempfile.TemporaryDirectory() as name:
        data = write_data(Path(name, "data"))
        write_plain_from_logs(Path(name, "plain"), run_once(Path(name, "logs"), data))

        def seconds_of_plain() -> float:
            with as_without_us():
                return seconds_of_call(lambda: build(load_plain(Path(name, "plain"))))

        ours, plain = in_turns(lambda: seconds_of_call(lambda: build(load_ours(data))), seconds_of_plain, runs=5)
        yield Measurement("1,609 documents loaded and built", ours, "s", "target", 3)
        yield Measurement("the same", ours, "s", "plain YAML tasks", plain)
        checked = median_seconds(lambda: [check_data(source) for source in find_sources(str(data))], runs=5)
        yield Measurement("1,609 rows checked", checked, "s", "target", 2)
