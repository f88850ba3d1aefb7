"""The scripted models that are compared."""

from __future__ import annotations

import random
from collections.abc import Callable

from scripted import reference

SAMPLE_TASKS = ["mera_ru_sample", "riddles_open_sample"]
WEAK, MIDDLE, STRONG = "org/weak-160m", "org/middle-1b", "/models/local/strong-7b"


def skilled(skill: float) -> Callable:
    """A model that is right on a share of documents, the same ones for each model of more skill; always the same."""

    def answer(doc, prompt):
        luck = random.Random(f"{doc['instruction']} {sorted(doc['inputs'].items())}").random()
        if luck < skill:
            # Every fifth right answer is in another case of the marker, which only flexible-extract reads.
            return f"**ОТВЕТ: {reference(doc)[7:]}**" if int(luck * 1000) % 5 == 0 else reference(doc)
        return (
            "Не знаю, что ответить." if luck > 0.9 else f"Ответ: {'А' if doc['answer_format']['letters'] else 'пень'}"
        )

    return answer
