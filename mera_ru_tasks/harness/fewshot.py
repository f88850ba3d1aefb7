"""Which shots stand before a document."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from lm_eval.api.samplers import ContextSampler

from mera_ru_tasks.data.schema import has_reference
from mera_ru_tasks.errors import DataError


class ShotsSampler(ContextSampler):  # type: ignore[misc]
    """The same shots before every document, chosen by the few-shot seed.

    lm-eval's own sampler draws anew for each document, so that a document's prompt, and with it the score, would depend
    on `--limit`, on the documents' order and on how they are spread over processes. It also tells documents apart by
    comparing them whole, and takes shots without an answer.
    """

    def sample(
        self, n: int, eval_doc: Mapping[str, Any] | None = None, df: Sequence[Any] | None = None, **kwargs: Any
    ) -> Sequence[Any]:
        """Take `n` answered shots, never the document under test; raises DataError where there are fewer."""
        tested = eval_doc["meta"]["id"] if eval_doc else None
        shots = [shot for shot in self._shuffled if shot["meta"]["id"] != tested]
        if n > len(shots):
            raise DataError(
                f"--num_fewshot {n} asks for more shots than the data have to draw from ({len(shots)}). "
                "Use a smaller number, or add rows with answers to the split `shots` of the data."
            )
        return shots[:n]

    def set_rnd(self, rnd: int | None) -> ShotsSampler:
        """Choose the order in which shots are taken, by lm-eval's few-shot seed."""
        super().set_rnd(rnd)
        self.__dict__.pop("_shuffled", None)
        return self

    def digest(self, n: int) -> str:
        """What tells the shots that `sample` takes from others; with one more, which stands in for the tested one."""
        parts = [[shot["instruction"], shot["inputs"], shot["outputs"]] for shot in self._shuffled[: n + 1]]
        text = json.dumps(parts, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @functools.cached_property
    def _shuffled(self) -> list[Any]:
        answered = [shot for shot in self.fewshot_docs() if has_reference(shot)]
        self.rnd.shuffle(answered)
        return answered
