"""Locate the package's files, read the YAML files of tasks, and write files atomically."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import socket
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from mera_ru_tasks.issues import OutputError, TaskError

_PACKAGE = Path(__file__).resolve().parent


def expanded(path: str | Path) -> Path:
    """Expand `~` in a path. If the user does not exist, return the path unchanged."""
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
    """Return the folder of the shipped sample data, which contains a folder for each benchmark."""
    return _PACKAGE / "sample_data"


@functools.cache
def task_files() -> Mapping[str, Path]:
    """Return a mapping from the names of this package's tasks and groups to their YAML files."""
    return {path.stem: path for path in sorted(yaml_folder().rglob("*.yaml"))}


def task_names() -> list[str]:
    """Return the names of this package's tasks and groups in alphabetical order."""
    return sorted(task_files())


# In bytes: the maximum size of a file that is read as a whole, and of a line of a log. Real ones are far smaller.
LARGEST_FILE = 64 << 20
LONGEST_LINE = 16 << 20


def open_regular(file: Path) -> BinaryIO:
    """Open a regular file for reading. Pipes and devices are refused, because they may never end.

    Raises:
        OSError: the file cannot be opened, or is not a regular file.
    """
    if not stat.S_ISREG(file.stat().st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file", str(file))
    return file.open("rb")


def read_bounded(file: Path, most: int = LARGEST_FILE) -> bytes:
    """Return a file's content.

    Raises:
        OSError: the file cannot be read, is not a regular file or is larger than `most` bytes.
    """
    with open_regular(file) as stream:
        content = stream.read(most + 1)
    if len(content) > most:
        raise OSError(
            errno.EFBIG, f"it is larger than {most >> 20} MiB, more than any real file of its kind", str(file)
        )
    return content


def bounded_lines(stream: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a stream of any length. Stop after the start of a line longer than `LONGEST_LINE` bytes."""
    line = b""
    while len(line) <= LONGEST_LINE and (line := stream.readline(LONGEST_LINE + 1)):
        yield line


_LARGEST_YAML = 1 << 20
_MAX_ALIASES = 20


class FunctionName(str):
    """A function or class name, marked in YAML with lm-eval's tag `!function`."""


def read_task_file(file: Path) -> Mapping[str, Any]:
    """Read the YAML file of a task without lm-eval and without imports: `!function NAME` becomes a `FunctionName`.

    Raises:
        TaskError: the file cannot be read, is not valid YAML, or does not contain settings.
    """
    import yaml

    class Loader(yaml.SafeLoader):
        """A YAML loader that supports lm-eval's tag `!function`."""

        def compose_node(self, parent: Any, index: Any) -> Any:
            # A few nested aliases can stand for billions of values.
            if self.check_event(yaml.AliasEvent):
                self.aliases = getattr(self, "aliases", 0) + 1
                if self.aliases > _MAX_ALIASES:
                    raise yaml.YAMLError(f"it has more than {_MAX_ALIASES} aliases")
            return super().compose_node(parent, index)

    Loader.add_constructor("!function", lambda loader, node: FunctionName(node.value))
    try:
        content = yaml.load(read_bounded(file, _LARGEST_YAML).decode("utf-8"), Loader)
    except OSError as error:
        raise TaskError(f"{file} cannot be read: {error.strerror}.") from error
    except (yaml.YAMLError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise TaskError(f"{file} is not valid YAML: {' '.join(str(error).split())}. Correct the file.") from error
    if not isinstance(content, Mapping):
        raise TaskError(f"{file} contains no settings. Write each setting as a line `name: value`.")
    return content


@functools.cache
def averaged_groups() -> Mapping[str, tuple[str, ...]]:
    """Return a mapping from each of this package's groups with a mean to the names of its tasks."""
    files = sorted((yaml_folder() / "groups").glob("*.yaml"))
    groups = [read_task_file(file) for file in files]
    return {group["group"]: tuple(group["task"]) for group in groups if "aggregate_metric_list" in group}


_FULL = (errno.ENOSPC, errno.EDQUOT)


def write_whole(file: Path, content: bytes, *, replace: bool = False) -> None:
    """Write a file atomically: write a temporary file next to the target, then rename it.

    First remove temporary files for the same target that belong to terminated processes on this machine.

    Args:
        file: the file to write.
        content: the bytes to write.
        replace: True to replace an existing file.

    Raises:
        OutputError: the file exists and may not be replaced, or it cannot be written. No partial file is left.
    """
    _remove_unfinished(file)
    part = file.with_name(f"{file.name}{_suffix(os.getpid())}")
    try:
        with part.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())  # some file systems report a full disk only here
        if replace:
            part.replace(file)
        else:
            _rename_without_replacing(part, file)
    except OSError as error:
        raise OutputError(_explain(file, error)) from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


def require_new(file: Path, *, force: bool | None = None) -> None:
    """Check that an output file can be created, before any work is done.

    Args:
        file: the output file.
        force: True to allow replacing an existing file; None if the command has no `--force`.

    Raises:
        OutputError: the file exists, its folder does not exist, or the folder is not writable.
    """
    folder = file.absolute().parent
    if file.exists() and not (force and file.is_file()):
        way_out = "delete it" if force is None else "replace it with --force"
        raise OutputError(f"{file} already exists. Choose another file with -o, or {way_out}.")
    if not folder.is_dir():
        raise OutputError(
            f"Cannot write {file}: the folder {folder} does not exist. Create it, or choose another file with -o."
        )
    if not os.access(folder, os.W_OK):
        raise OutputError(f"Cannot write {file}: no write permission for {folder}. Choose another file with -o.")


def explain_full_disk(error: OSError) -> str | None:
    """Return a message if a full disk caused the error, or None for any other error."""
    disk = f"The disk with {error.filename}" if error.filename else "The disk"
    return f"{disk} is full. Free some space and rerun the command." if error.errno in _FULL else None


def _explain(file: Path, error: OSError) -> str:
    if isinstance(error, FileExistsError):
        return f"{file} already exists. Choose another file, or delete it."
    if error.errno in _FULL:
        return (
            f"Cannot write {file}: the disk is full. Free some space and rerun the command, or choose another folder."
        )
    return f"Cannot write {file}: {error.strerror or error}. Choose another location, or fix this one."


def _rename_without_replacing(part: Path, file: Path) -> None:
    try:
        os.link(part, file)  # fails if the file exists; a rename would replace it
    except FileExistsError:
        raise
    except OSError:  # the file system has no hard links
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
