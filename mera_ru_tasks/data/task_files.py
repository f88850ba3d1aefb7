"""Reading the YAML file of a task without lm-eval, which takes seconds to import."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mera_ru_tasks.errors import TaskError


class FunctionName(str):
    """What stands behind lm-eval's tag `!function`."""


def read_task_file(file: Path) -> Mapping[str, Any]:
    """Read a file's settings; lm-eval's `!function NAME` becomes the name, and nothing is called.

    Raises:
        TaskError: the file cannot be read, or is no YAML of settings.
    """
    import yaml

    class Loader(yaml.SafeLoader):
        """Knows lm-eval's tag."""

    Loader.add_constructor("!function", lambda loader, node: FunctionName(node.value))
    try:
        content = yaml.load(file.read_text(encoding="utf-8"), Loader)
    except OSError as error:
        raise TaskError(f"{file} cannot be read: {error.strerror}.") from error
    except (yaml.YAMLError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise TaskError(f"{file} is not valid YAML: {' '.join(str(error).split())}. Mend the file there.") from error
    if not isinstance(content, Mapping):
        raise TaskError(f"{file} holds no settings. Write it as `name: value` lines.")
    return content
