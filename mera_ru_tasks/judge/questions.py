"""Decide which documents need a question for the judge, and render the judge's prompt.

Task, reference and answer are untrusted text. They are inserted as values, never as part of the template, between marks
that they cannot imitate. Each mark contains a hash of the texts, and brackets in the texts are replaced.
The replacement also removes the special tokens of chat templates (`<|im_end|>`, `</s>`, `<end_of_turn>`, `[INST]`),
which some servers would interpret as the end of the message.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mera_ru_tasks.data.benchmarks import AnswerFormat
from mera_ru_tasks.data.schema import has_reference
from mera_ru_tasks.harness import prompt as task_prompt
from mera_ru_tasks.issues import JudgeError
from mera_ru_tasks.judge.config import PROMPT, Settings
from mera_ru_tasks.paths import read_bounded
from mera_ru_tasks.scoring import extract, score
from mera_ru_tasks.scoring.strict import entries_of

if TYPE_CHECKING:
    from jinja2 import Template

# The judge sees at most this many characters of an answer.
ANSWER_LIMIT = 2000
BUILT_IN = Path(__file__).parent / "prompts" / "judge_1.jinja"


@dataclass(frozen=True)
class Question:
    """A question for the judge.

    Attributes:
        task: the prompt of the document, without shots.
        accepted: the accepted answers in the reference.
        answer: the answer to judge.
    """

    task: str
    accepted: tuple[str, ...]
    answer: str


@dataclass(frozen=True)
class Skipped:
    """The reason why a document needs no question, and its score (None if it gets no score)."""

    why: str
    score: float | None


NO_REFERENCE = Skipped("no reference", None)
EXACT = Skipped("exact match", 1.0)
EMPTY = Skipped("empty answer", 0.0)


def question_for(doc: Mapping[str, Any], response: str, *, skip_exact: bool = True) -> Question | Skipped:
    """Return the question for the judge about a response, or the reason why none is needed.

    Args:
        doc: a loaded document.
        response: the model's response.
        skip_exact: True to give a strict exact match the score 1 without a question.
    """
    if not has_reference(doc):
        return NO_REFERENCE
    answer = shown_answer(response)
    if not neutral(answer):
        return EMPTY  # also if the response contains only unfinished reasoning
    if skip_exact and score.score_strict(doc, response)["exact_match"]:
        return EXACT
    accepted = entries_of(doc["outputs"], is_list=AnswerFormat.of(doc).is_list)
    return Question(task_prompt.render(doc), tuple(accepted), answer)


def shown_answer(response: str) -> str:
    """Return the part of a response that the judge sees, which may be empty.

    This is the text after the last announcement of an answer or, without an announcement, the whole response without
    its reasoning. A longer text is truncated to `ANSWER_LIMIT` characters. After an announcement the first characters
    are kept, because the answer comes first. Otherwise the last characters are kept, because they contain the
    conclusion.
    """
    visible = extract.drop_reasoning(response)
    marked = (extract.after_announcement(visible) or "").strip()
    return marked[:ANSWER_LIMIT] if marked else visible.strip()[-ANSWER_LIMIT:]


_PREFLIGHT = Question("Зимой и летом одним цветом. Что это?", ("ёлка", "ель"), "Это ёлочка")


@dataclass(frozen=True)
class Prompt:
    """A prompt template.

    Attributes:
        name: the name of the template file.
        source: the text of the template.
    """

    name: str
    source: str

    @cached_property
    def version(self) -> str:
        """Return the name of the file with a hash of its text, which changes with any edit."""
        return f"{Path(self.name).stem}-{_digest(self.source)[:8]}"

    @cached_property
    def _template(self) -> Template:
        from jinja2 import StrictUndefined
        from jinja2.sandbox import SandboxedEnvironment

        environment = SandboxedEnvironment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
        return environment.from_string(self.source)

    def render(self, question: Question) -> str:
        """Render the message for a question."""
        task, answer = neutral(question.task), neutral(question.answer)
        accepted = [" ".join(neutral(entry).split()) for entry in question.accepted]
        code = _digest(json.dumps([task, accepted, answer]))[:12]
        return self._template.render(
            code=code,
            task=_between_marks("ЗАДАНИЕ", task, code),
            reference=_between_marks("ЭТАЛОН", "\n".join(accepted), code),
            answer=_between_marks("ОТВЕТ МОДЕЛИ", answer, code),
            several=len(accepted) > 1,
        ).strip()

    def preflight(self) -> str:
        """Return a message with a test question, which occurs in no dataset."""
        return self.render(_PREFLIGHT)


_LARGEST_PROMPT = 1 << 20


def load_prompt(settings: Settings) -> Prompt:
    """Load the prompt of the settings.

    Raises:
        JudgeError: the file cannot be read, is not a valid template, or does not show the reference and the answer.
    """
    from jinja2 import TemplateError

    path = settings.prompt or BUILT_IN
    try:
        prompt = Prompt(path.name, read_bounded(path, _LARGEST_PROMPT).decode("utf-8-sig"))
        shown = prompt.preflight()
    except (OSError, UnicodeDecodeError) as error:
        raise JudgeError(f"{PROMPT}: {path} cannot be read ({error}). Set it to a UTF-8 file.") from error
    except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError) as error:
        raise JudgeError(
            f"{PROMPT}: {path} is not a usable Jinja template ({type(error).__name__}: {error}). "
            "Correct the template. Its variables are `task`, `reference`, `answer`, `code` and `several`."
        ) from error
    for name, text in (("reference", _PREFLIGHT.accepted[0]), ("answer", _PREFLIGHT.answer)):
        if text not in shown:
            raise JudgeError(f"{PROMPT}: {path} does not contain `{{{{ {name} }}}}`, which the judge needs. Add it.")
    return prompt


def neutral(text: str) -> str:
    """Replace brackets that could imitate delimiters or special tokens, and remove invisible characters."""
    return text.replace("\r\n", "\n").translate(_NEUTRAL).strip()


class _Neutral(dict[int, str]):
    """A table of character replacements, which computes each entry on first use."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        category = unicodedata.category(character)
        if character in "\n\t":
            self[code] = character
        elif category in ("Zl", "Zp") or character in "\r\v\f\x85":
            self[code] = "\n"
        elif category in ("Cc", "Cf"):
            self[code] = ""
        else:
            self[code] = "\ufffd" if category == "Cs" else character
        return self[code]


_NEUTRAL = _Neutral({ord("<"): "‹", ord(">"): "›", ord("["): "(", ord("]"): ")"})


def _between_marks(name: str, text: str, code: str) -> str:
    return f"<<<{name} {code}>>>\n{text}\n<<<КОНЕЦ: {name} {code}>>>"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
