"""Which shots come before a document."""

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
    """Take the same shots for every document, chosen by the few-shot seed.

    lm-eval's own sampler draws new shots for each document. A document's prompt and score would then depend on
    `--limit`, on the order of the documents and on their distribution over processes. It also compares whole documents
    to leave out the tested one, and takes shots without an answer.
    """

    def sample(
        self, n: int, eval_doc: Mapping[str, Any] | None = None, df: Sequence[Any] | None = None, **kwargs: Any
    ) -> Sequence[Any]:
        """Return `n` answered shots, never the tested document itself.

        Raises:
            DataError: the data have fewer answered shots.
        """
        tested = eval_doc["meta"]["id"] if eval_doc else None
        shots = [shot for shot in self._shuffled if shot["meta"]["id"] != tested]
        if n > len(shots):
            raise DataError(
                f"--num_fewshot {n} asks for more shots than the data have to draw from ({len(shots)}). "
                "Use a smaller number, or add rows with answers to the split `shots` of the data."
            )
        return shots[:n]

    def set_rnd(self, rnd: int | None) -> ShotsSampler:
        """Choose the order of the shots by lm-eval's few-shot seed."""
        super().set_rnd(rnd)
        self.__dict__.pop("_shuffled", None)
        return self

    def digest(self, n: int) -> str:
        """Return a digest of the first `n` shots and of the next one, which replaces a shot that is under test."""
        parts = [[shot["instruction"], shot["inputs"], shot["outputs"]] for shot in self._shuffled[: n + 1]]
        text = json.dumps(parts, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @functools.cached_property
    def _shuffled(self) -> list[Any]:
        answered = [shot for shot in self.fewshot_docs() if has_reference(shot)]
        self.rnd.shuffle(answered)
        return answered
