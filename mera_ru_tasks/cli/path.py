"""`mera-ru path`."""

from __future__ import annotations

from mera_ru_tasks.paths import yaml_folder


def path() -> None:
    """Print the folder of the task YAML files.

    Not needed where lm-eval finds the tasks by itself; it does after a plain installation.

    \b
    Example:
      lm_eval --include_path "$(mera-ru path)" --model hf --model_args pretrained=MODEL --tasks mera_ru
    """  # noqa: D301 (\b, for the help's layout, is the control character)
    print(yaml_folder())
