"""Locate files, read the tasks' YAML files, and write files so that each is complete or absent."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mera_ru_tasks.issues import OutputError, TaskError

_PACKAGE = Path(__file__).resolve().parent


def expanded(path: str | Path) -> Path:
    """Expand `~` in a path; leave the path unchanged if there is no such user."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def yaml_folder() -> Path:
    """Return the folder with the task YAML files: inside the package when installed, next to it in a checkout."""
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


class FunctionName(str):
    """The name after lm-eval's tag `!function`."""


def read_task_file(file: Path) -> Mapping[str, Any]:
    """Read a task's YAML file without lm-eval; `!function NAME` becomes a `FunctionName`, and nothing is imported.

    Raises:
        TaskError: the file cannot be read, or does not contain YAML settings.
    """
    import yaml

    class Loader(yaml.SafeLoader):
        """A YAML loader that supports lm-eval's tag."""

    Loader.add_constructor("!function", lambda loader, node: FunctionName(node.value))
    try:
        content = yaml.load(file.read_text(encoding="utf-8"), Loader)
    except OSError as error:
        raise TaskError(f"{file} cannot be read: {error.strerror}.") from error
    except (yaml.YAMLError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise TaskError(f"{file} is not valid YAML: {' '.join(str(error).split())}. Correct the file there.") from error
    if not isinstance(content, Mapping):
        raise TaskError(f"{file} contains no settings. Write them as `name: value` lines.")
    return content


@functools.cache
def averaged_groups() -> Mapping[str, tuple[str, ...]]:
    """Return the tasks of each of our groups that has a mean over them, by the group's name."""
    files = sorted((yaml_folder() / "groups").glob("*.yaml"))
    groups = [read_task_file(file) for file in files]
    return {group["group"]: tuple(group["task"]) for group in groups if "aggregate_metric_list" in group}


_FULL = (errno.ENOSPC, errno.EDQUOT)


def write_whole(file: Path, content: bytes, *, replace: bool = False) -> None:
    """Write a temporary file next to the target, then move it there.

    Unfinished files that killed processes on this machine left for the same target are removed.

    Args:
        file: the file.
        content: its content.
        replace: True to replace an existing file.

    Raises:
        OutputError: the file exists or cannot be written; no partial file is left.
    """
    _remove_unfinished(file)
    part = file.with_name(f"{file.name}{_suffix(os.getpid())}")
    try:
        with part.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())  # some file systems notice only here that the disk is full
        if replace:
            part.replace(file)
        else:
            _move_to_free_place(part, file)
    except OSError as error:
        raise OutputError(_explain(file, error)) from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


def require_new(file: Path, *, force: bool | None = None) -> None:
    """Check that a command can create an output file, before it does the work.

    Args:
        file: the file.
        force: True to allow an existing file; None for a command without `--force`.

    Raises:
        OutputError: the file exists, its folder does not exist, or the folder is not writable.
    """
    folder = file.absolute().parent
    if file.exists() and not (force and file.is_file()):
        way_out = "delete it" if force is None else "replace it with --force"
        raise OutputError(f"{file} already exists. Choose another file with -o, or {way_out}.")
    if not folder.is_dir():
        raise OutputError(f"Cannot write {file}: the folder {folder} does not exist. Create it, or use another -o.")
    if not os.access(folder, os.W_OK):
        raise OutputError(f"Cannot write {file}: no write permission for {folder}. Choose another folder with -o.")


def explain_full_disk(error: OSError) -> str | None:
    """Return a message for an error that a full disk caused; None for another error."""
    place = f" with {error.filename}" if error.filename else ""
    return f"The disk{place} is full. Free some space and run again." if error.errno in _FULL else None


def _explain(file: Path, error: OSError) -> str:
    if isinstance(error, FileExistsError):
        return f"{file} already exists. Choose another file, or delete it."
    if error.errno in _FULL:
        return f"Cannot write {file}: the disk is full. Free some space and run again, or choose another location."
    return f"Cannot write {file}: {error.strerror or error}. Choose another location, or fix this one."


def _move_to_free_place(part: Path, file: Path) -> None:
    try:
        os.link(part, file)  # unlike a rename, it fails if the file exists
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if file.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(file)) from None
        part.rename(file)


def _suffix(process: int) -> str:
    return f".{socket.gethostname()}.{process}.part"


def _remove_unfinished(file: Path) -> None:
    for part in _unfinished(file):
        process = part.name.split(".")[-2]
        if process.isdigit() and part.name == f"{file.name}{_suffix(int(process))}" and not _is_running(int(process)):
            with contextlib.suppress(OSError):
                part.unlink()


def _unfinished(file: Path) -> Iterator[Path]:
    with contextlib.suppress(OSError):
        yield from [part for part in file.parent.iterdir() if part.name.startswith(f"{file.name}.")]


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
