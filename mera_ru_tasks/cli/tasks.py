"""`mera-ru path`: where the task files are."""

from __future__ import annotations

from mera_ru_tasks.paths import yaml_folder


def path() -> None:
    """Print the folder of the task YAML files.

    A plain installation does not need it, because lm-eval finds the tasks by itself.

    \b
    Example:
      lm_eval --include_path "$(mera-ru path)" --model hf --model_args pretrained=MODEL --tasks mera_ru
    """  # noqa: D301 (\b is click's mark for a block that is not rewrapped)
    print(yaml_folder())
