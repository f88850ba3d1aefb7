"""Where files are: the package's own, installed or in a checkout, and those that a user names."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def expanded(path: str | Path) -> Path:
    """A path with `~` in it as it is meant; where there is no such user, as it stands, which then does not exist."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def yaml_folder() -> Path:
    """The folder with the task YAML files: inside the package when installed, beside it in a checkout."""
    installed = _PACKAGE / "yaml_tasks"
    return installed if installed.is_dir() else _PACKAGE.parent / "yaml_tasks"


def sample_folder() -> Path:
    """The folder with the sample data that the package ships, one folder for each benchmark."""
    return _PACKAGE / "sample_data"


def task_names() -> list[str]:
    """The names of our tasks and groups, which are those of their files."""
    return sorted(path.stem for path in yaml_folder().glob("*.yaml"))
