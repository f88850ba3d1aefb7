"""`mera-ru power`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

import typer

from mera_ru_tasks.textutil import say

if TYPE_CHECKING:
    from mera_ru_tasks.compare.power import Size


def power(
    size: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SIZE]...",
            show_default=False,
            help="The number of documents of each task, such as 500, or 201x3 for 201 groups of 3. "
            "Default: the tasks of mera_ru, 506 500 201x3.",
        ),
    ] = None,
    accuracy: Annotated[
        float, typer.Option(min=0.0, max=0.999, help="The accuracy that you expect of the worse model.")
    ] = 0.5,
    difference: Annotated[
        float | None,
        typer.Option(
            min=0.0001,
            max=1.0,
            show_default=False,
            help="A difference that you want to see, such as 0.03: say how many documents it takes.",
        ),
    ] = None,
    agreement: Annotated[
        float,
        typer.Option(min=0.0, max=1.0, help="The part of the documents on which the models succeed or fail together."),
    ] = 0.5,
    icc: Annotated[float, typer.Option(min=0.0, max=1.0, help="The correlation of two documents of a group.")] = 0.2,
    comparisons: Annotated[
        int, typer.Option(min=1, help="The number of comparisons to correct for, such as 6 for all pairs of 4 models.")
    ] = 1,
) -> None:
    """Say before a run which difference between two models it can see, or how many documents a difference takes.

    A comparison sees a difference if it finds it with a probability of 80%, in exact match, in the mean over the tasks.

    \b
    Examples:
      mera-ru power
      mera-ru power --accuracy 0.3 --difference 0.02
      mera-ru power 60 60 20x3
    """  # noqa: D301 (\b, for the help's layout, is the control character)
    from mera_ru_tasks.compare import power as planning

    sizes = [_size(text) for text in size] if size else list(planning.MERA_RU)
    options = {"agreement": agreement, "icc": icc, "comparisons": comparisons}
    subject = f"{_list(sizes)} documents, accuracy {accuracy:g}"
    seen = planning.detectable(sizes, accuracy, **options)
    if seen is None:
        say(f"{subject}: this comparison can see no difference.")
    else:
        say(f"{subject}: this comparison can see {100 * seen:.1f} points.")
    if difference is None:
        return
    if difference > 1 - accuracy:
        raise typer.BadParameter(
            f"no model is better than {accuracy:g} by {difference:g}; scores end at 1", param_hint="--difference"
        )
    points = f"{100 * difference:g}"
    found = planning.power(sizes, accuracy, difference, **options)  # type: ignore[arg-type]
    say(f"It finds a difference of {points} points with a probability of {found:.0%}.")
    enough = planning.needed(sizes, accuracy, difference, **options)
    say(f"To see {points} points takes {_list(enough) if enough else 'more than a thousand times as many'} documents.")


def _size(text: str) -> Size:
    from mera_ru_tasks.compare.power import Size
    from mera_ru_tasks.compare.stats import FEWEST_CLUSTERS

    found = re.fullmatch(r"(\d{1,7})(?:[x×](\d{1,3}))?", text)
    if found is None or not int(found[2] or 1):
        raise typer.BadParameter(f"{text!r} is not a size such as 500 or 201x3", param_hint="SIZE")
    if int(found[1]) < FEWEST_CLUSTERS:
        raise typer.BadParameter(
            f"{text} is too small: a verdict takes {FEWEST_CLUSTERS} independent documents or groups", param_hint="SIZE"
        )
    return Size(int(found[1]), int(found[2] or 1))


def _list(sizes: list[Size]) -> str:
    return " + ".join(map(str, sizes))
