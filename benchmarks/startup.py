"""Measure start-up times: the first request of a run, `--help`, and the start of Python.

All times are wall-clock times of real commands, because users wait for them. Compared programs run alternately, so that
other load affects both equally. The model is a random GPT-NeoX that loads immediately. The benchmark needs an
environment in which the package is installed with its start-up hook, `lm_eval` and `mera-ru`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks import TESTS, Measurement, in_turns
from benchmarks._processes import environment, measured

_SCRIPTS = Path(sysconfig.get_path("scripts"))
# The message that lm-eval logs before it sends the first request to the model.
_FIRST_REQUEST = b"Running generate_until requests"

Command = Sequence[str | Path]


def measurements() -> Iterator[Measurement]:
    """Yield the time to the first request, the time of the help, and the cost of the hook."""
    with tempfile.TemporaryDirectory() as folder:
        measured([sys.executable, TESTS / "tiny_model.py", folder])
        arguments = [
            "--model", "hf", "--model_args", f"pretrained={folder},dtype=float32", "--device", "cpu",
            "--tasks", "mera_ru_sample_prefill",
        ]  # fmt: skip
        ours, stock = in_turns(
            lambda: seconds_to([_SCRIPTS / "mera-ru", "run", *arguments], _FIRST_REQUEST),
            lambda: seconds_to([_SCRIPTS / "lm_eval", *arguments], _FIRST_REQUEST),
            runs=3,
        )
    yield Measurement("mera-ru run, to the first request", ours, "s", "lm_eval", stock)
    helped, bare = in_turns(
        lambda: seconds_of([_SCRIPTS / "mera-ru", "--help"]), lambda: seconds_of([sys.executable, "-c", "pass"]), runs=9
    )
    yield Measurement("mera-ru --help", helped, "s", "target", 0.4)
    yield Measurement("Python start", 1000 * bare, "ms")
    with_hook, without = _python_start()
    yield Measurement("Python start with the hook alone", 1000 * with_hook, "ms", "without it", 1000 * without)
    yield Measurement("the hook's cost", 1000 * (with_hook - without), "ms", "target", 2)


def _python_start() -> tuple[float, float]:
    """Return the seconds to start Python with an otherwise empty site-packages, with and without the hook's `.pth`."""
    hook = Path(__file__).resolve().parent.parent / "mera_ru_tasks_autoload.pth"
    with tempfile.TemporaryDirectory() as folder:
        pythons = []
        for name in ("with", "without"):
            subprocess.run([sys.executable, "-m", "venv", "--without-pip", Path(folder, name)], check=True)
            pythons.append(Path(folder, name, "bin", "python"))
        [site_packages] = Path(folder, "with", "lib").glob("python*/site-packages")
        shutil.copy(hook, site_packages)
        first, second = (lambda python=python: seconds_of([python, "-c", "pass"]) for python in pythons)
        return in_turns(first, second, runs=100)


def seconds_of(command: Command) -> float:
    """Return the seconds from the start of a command to its end."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment())
    return time.perf_counter() - start


def seconds_to(command: Command, mark: bytes) -> float:
    """Return the seconds from the start of a command until `mark` appears in its standard error. Then stop it."""
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment()) as process:
        assert process.stderr is not None
        said = b""
        while mark not in said:
            more = os.read(process.stderr.fileno(), 1 << 16)
            if not more:
                raise RuntimeError(f"{command[0]} ended early: {said.decode(errors='replace')[-2000:]}")
            said += more
        seconds = time.perf_counter() - start
        process.kill()
    return seconds
