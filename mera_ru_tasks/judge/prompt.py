"""A question becomes the judge's prompt.

Task, reference and answer are hostile text. They are values of the template, never part of it, and stand between marks
that they cannot imitate: the marks' code is a hash of all that stands between them, and the marks' angle brackets occur
in no data. Nor do the tokens of chat templates (`<|im_end|>`, `</s>`, `<end_of_turn>`, `[INST]`), which servers that
tokenise a rendered template would take for the end of the message.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from mera_ru_tasks.errors import JudgeError
from mera_ru_tasks.judge.config import PROMPT, Settings

if TYPE_CHECKING:
    from jinja2 import Template

BUILT_IN = Path(__file__).parent / "prompts" / "judge_1.jinja"


@dataclass(frozen=True)
class Question:
    """What the judge compares.

    Attributes:
        task: the prompt that the model was given, without shots.
        accepted: the reference's answers, any of which is enough.
        answer: the answer to judge.
    """

    task: str
    accepted: tuple[str, ...]
    answer: str


_TRIAL = Question("Зимой и летом одним цветом. Что это?", ("ёлка", "ель"), "Это ёлочка")


@dataclass(frozen=True)
class Prompt:
    """A prompt's template.

    Attributes:
        name: its file's name.
        source: its text.
    """

    name: str
    source: str

    @cached_property
    def version(self) -> str:
        """The file's name and a hash of its text, so that no change of it goes unseen."""
        return f"{Path(self.name).stem}-{_digest(self.source)[:8]}"

    @cached_property
    def _template(self) -> Template:
        from jinja2 import StrictUndefined
        from jinja2.sandbox import SandboxedEnvironment

        environment = SandboxedEnvironment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
        return environment.from_string(self.source)

    def render(self, question: Question) -> str:
        """The message that asks the judge `question`."""
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

    def trial(self) -> str:
        """A message with a question that no data holds."""
        return self.render(_TRIAL)


def load_prompt(settings: Settings) -> Prompt:
    """Load the prompt that the settings name.

    Raises:
        JudgeError: its file cannot be read, is no template, or does not show the reference and the answer.
    """
    from jinja2 import TemplateError

    path = settings.prompt or BUILT_IN
    try:
        prompt = Prompt(path.name, path.read_text("utf-8"))
        shown = prompt.trial()
    except (OSError, UnicodeDecodeError) as error:
        raise JudgeError(f"{PROMPT}: {path} cannot be read ({error}). Name a UTF-8 file.") from error
    except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError) as error:
        raise JudgeError(
            f"{PROMPT}: {path} is no usable Jinja template ({type(error).__name__}: {error}). "
            "It may use `task`, `reference`, `answer`, `code` and `several`."
        ) from error
    for name, text in (("reference", _TRIAL.accepted[0]), ("answer", _TRIAL.answer)):
        if text not in shown:
            raise JudgeError(f"{PROMPT}: {path} does not show `{{{{ {name} }}}}`, without which there is no verdict.")
    return prompt


def neutral(text: str) -> str:
    """The text without brackets that marks and special tokens need, control characters and invisible ones."""
    return text.replace("\r\n", "\n").translate(_NEUTRAL).strip()


class _Neutral(dict[int, str]):
    """What each character becomes, filled as characters occur."""

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
