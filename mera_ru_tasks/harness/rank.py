"""Define the lm-eval task that ranks options by log-likelihood instead of generating a response."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lm_eval.api.instance import Instance
from lm_eval.api.task import ConfigurableTask

from mera_ru_tasks.data import load as loading
from mera_ru_tasks.data.benchmarks import BENCHMARKS, RIDDLES_CLOSED, AnswerFormat
from mera_ru_tasks.data.schema import has_reference
from mera_ru_tasks.harness import prompt
from mera_ru_tasks.harness.task import MeraTask
from mera_ru_tasks.issues import DataError
from mera_ru_tasks.paths import sample_folder
from mera_ru_tasks.scoring import ranking
from mera_ru_tasks.scoring.strict import MARKER
from mera_ru_tasks.textutil import warn_once

if TYPE_CHECKING:
    from datasets import Dataset

logger = logging.getLogger("lm_eval.mera_ru_tasks")


class RankTask(MeraTask):
    """A `multiple_choice` task whose documents may have several correct options and two forms of context.

    The form that is being built is stored in the task, because lm-eval's methods for prompts do not pass it on.
    """

    for_base_model = ""

    def __init__(self, config: Mapping[str, Any]) -> None:
        """Create the task from the content of its YAML file.

        Raises:
            DataError: no document has a reference.
        """
        self._form: ranking.Form = "cloze"
        self._delimiter = ranking.DELIMITER
        super().__init__(config)

    def download(self, dataset_kwargs: dict[str, Any] | None = None, **_: Any) -> None:
        """Load the documents that have a reference, because others cannot be ranked. Add distractors to riddles."""
        super().download(dataset_kwargs)
        split = self.config.test_split
        self.dataset[split] = self._with_distractors(self._answered(self.dataset[split]))

    def _answered(self, documents: Dataset) -> Dataset:
        numbers = [number for number, outputs in enumerate(documents["outputs"]) if has_reference({"outputs": outputs})]
        if not numbers:
            benchmark = BENCHMARKS[self.config.dataset_kwargs["mera_ru_benchmark"]]
            raise DataError(
                f"{self.config.task}: none of the {len(documents)} documents has a reference answer, so there is "
                f"nothing to rank. Set MERA_RU_DATA to a folder of data with answers, or run "
                f"`{benchmark.name}_shots_rank`, which uses the public shots."
            )
        if len(numbers) < len(documents):
            warn_once(f"{self.config.task}: the documents without a reference answer are left out.")
        return documents.select(numbers)

    def _with_distractors(self, documents: Dataset) -> Dataset:
        if AnswerFormat.of(documents[0]).choices:
            return documents
        sample = loading.load(RIDDLES_CLOSED, data=sample_folder())["test"]
        return documents.add_column("distractors", ranking.draw_distractors(list(documents), list(sample)))

    def doc_to_text(self, doc: Mapping[str, Any], doc_to_text: Any = None) -> str:
        """Return the context of a document in the form that is being built (see `fewshot_context`)."""
        return prompt.render(doc, MARKER) if self._form == "letter" else ranking.cloze(doc)

    def doc_to_target(self, doc: Mapping[str, Any], doc_to_target: Any = None) -> str:
        """Return the first correct option of a document in the form that is being built."""
        options = ranking.options_of({"distractors": [], **doc})
        return next((option.text for option in options if option.right and option.form == self._form), "")

    def fewshot_context(self, doc: Mapping[str, Any], *args: Any, **kwargs: Any) -> dict[ranking.Form, Any]:
        """Return a mapping from each form of the document to its context, in which the shots have the same form."""
        contexts = {}
        try:
            for form in ranking.forms_of(doc):
                self._form = form
                contexts[form] = super().fewshot_context(doc, *args, **kwargs)
        finally:
            self._form = "cloze"
        return contexts

    def construct_requests(
        self, doc: Mapping[str, Any], ctx: Mapping[ranking.Form, Any], **kwargs: Any
    ) -> list[Instance]:
        """Build one log-likelihood request for each option, as lm-eval does for `multiple_choice`."""
        kwargs.pop("chat_template", None)
        # As in lm-eval, no delimiter precedes the option in a chat, where the option begins the assistant's message.
        self._delimiter = "" if kwargs.pop("apply_chat_template", False) else ranking.DELIMITER
        return [
            Instance("loglikelihood", doc, (ctx[option.form], self._delimiter + option.text), number, **kwargs)
            for number, option in enumerate(ranking.options_of(doc))
        ]

    def apply_filters(self) -> Any:
        """Return the log-likelihoods unchanged, without the checks of `MeraTask`, which apply only to responses."""
        return ConfigurableTask.apply_filters(self)

    def process_results(self, doc: Mapping[str, Any], results: Sequence[tuple[float, bool]]) -> dict[str, Any]:
        """Score the log-likelihoods of one document. With `--predict_only`, return 0 for each metric, like lm-eval."""
        if not self._scored:
            return dict.fromkeys(self._metric_fn_list, 0)
        return process_results(doc, results, self._delimiter)


def process_results(
    doc: Mapping[str, Any], results: Sequence[tuple[float, bool]], delimiter: str = ranking.DELIMITER
) -> dict[str, Any]:
    """Score the log-likelihoods of one document.

    Args:
        doc: the document.
        results: a pair `(log-likelihood, is greedy)` for each option.
        delimiter: the text before each option, which was part of the request.

    Returns:
        The scores by metric; empty if a log-likelihood is not a finite number.
    """
    scores = ranking.score_ranking(doc, [float(value) for value, *_ in results], delimiter=delimiter)
    if not scores:
        warn_once("Some documents have no score, because a log-likelihood is not a finite number.")
    return scores
