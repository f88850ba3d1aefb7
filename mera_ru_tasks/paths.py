"""Where files are: the package's own, installed or in a checkout, and those that a user names."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def expanded(path: str | Path) -> Path:
    """Expand `~` in a path; leave the path unchanged if there is no such user."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def yaml_folder() -> Path:
    """Return the folder with the task YAML files: inside the package when installed, beside it in a checkout."""
    installed = _PACKAGE / "yaml_tasks"
    return installed if installed.is_dir() else _PACKAGE.parent / "yaml_tasks"


def shared_yaml(name: str) -> Path:
    """Return the file with settings that several tasks include, such as `base` or `choice`."""
    return yaml_folder() / "_shared" / f"{name}_yaml"


def sample_folder() -> Path:
    """Return the folder with the sample data that the package ships, one folder for each benchmark."""
    return _PACKAGE / "sample_data"


@functools.cache
def task_files() -> Mapping[str, Path]:
    """Return the YAML file of each of our tasks and groups, by the name of the task or group."""
    return {path.stem: path for path in sorted(yaml_folder().rglob("*.yaml"))}


def task_names() -> list[str]:
    """Return the names of our tasks and groups in alphabetical order."""
    return sorted(task_files())
