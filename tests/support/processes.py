"""Runs in several processes, each simulated by a thread."""

from __future__ import annotations

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import lm_eval
import torch
from lm_eval.tasks import TaskManager

from mera_ru_tasks.paths import yaml_folder
from tests.support.scripted import RankingModel, ScriptedModel, reference


class World:
    """The state that the processes of one run share."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._meeting = threading.Barrier(size, timeout=300)
        self._brought: list[Any] = [None] * size

    def exchange(self, rank: int, value: Any) -> list[Any]:
        """Wait for all processes, and return what each contributed."""
        self._brought[rank] = value
        self._meeting.wait()
        brought = list(self._brought)
        self._meeting.wait()
        return brought


class _Process:
    """One of several processes. Each gets a share of the documents, as in lm-eval's backends."""

    def __init__(self, answer: Any, world: World, rank: int) -> None:
        super().__init__(answer)  # type: ignore[call-arg]
        self.world = world
        self._rank, self._world_size, self._device = rank, world.size, torch.device("cpu")

    def all_gather(self, tensor: torch.Tensor) -> torch.Tensor:
        return torch.stack(self.world.exchange(self.rank, tensor))

    def gather_object(self, obj: Any, dst: int = 0) -> list[Any] | None:
        brought = self.world.exchange(self.rank, pickle.loads(pickle.dumps(obj)))
        return brought if self.rank == dst else None

    def barrier(self) -> None:
        self.world.exchange(self.rank, None)


class Process(_Process, ScriptedModel):
    """A process whose model writes responses."""


class RankingProcess(_Process, RankingModel):
    """A process whose model gives log-likelihoods."""


def run_in_processes(
    size: int,
    task: str,
    root: Path,
    answer: Any = reference,
    shots: int = 0,
    kind: type[Process | RankingProcess] = Process,
    **settings: Any,
) -> dict[str, Any]:
    """Evaluate with `size` processes, each a thread with its own tasks, and return the report of the first one."""
    world = World(size)
    loaded = []
    for _ in range(size):
        manager = TaskManager(
            include_defaults=False, include_path=str(yaml_folder()), metadata={"mera_ru_data": str(root)}
        )
        loaded.append(manager.load([task]))
        built = loaded[-1]["tasks"][task]
        built.set_config("num_fewshot", shots)
        built.set_fewshot_seed(1234)

    def evaluate(rank: int) -> Any:
        return lm_eval.evaluate(kind(answer, world, rank), loaded[rank], bootstrap_iters=0, **settings)

    with ThreadPoolExecutor(size) as pool:
        reports = list(pool.map(evaluate, range(size)))
    assert reports[1:] == [None] * (size - 1)
    return reports[0]
