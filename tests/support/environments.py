"""Create Python environments like a user's: the built wheel, and lm-eval from a wheel or an editable checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tests.support.documents import REPOSITORY

INSTALLED = sorted({Path(sysconfig.get_path(name)) for name in ("purelib", "platlib")})
LM_EVAL = Path(find_spec("lm_eval").origin).parent  # type: ignore[union-attr, arg-type]


def build_wheel(folder: Path) -> Path:
    """Build the project's wheel as `pip install` does, with the build backend that is installed here."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)],
        cwd=REPOSITORY, check=True, capture_output=True,
    )  # fmt: skip
    [wheel] = folder.glob("*.whl")
    return wheel


@dataclass(frozen=True)
class Environment:
    """A virtual environment that shares the installed packages, except this project and lm-eval."""

    root: Path

    @property
    def python(self) -> Path:
        return self.root / "bin" / "python"

    @property
    def site_packages(self) -> Path:
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        return self.root / "lib" / version / "site-packages"

    def run(self, *arguments: str, cwd: Path | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run the environment's Python as a user does, without the settings of the tests."""
        kept = {
            name: value for name, value in os.environ.items()
            if name in ("PATH", "HOME", "LANG", "TMPDIR") or name.startswith(("PIP_", "SSL_"))
        }  # fmt: skip
        return subprocess.run(
            [str(self.python), *arguments], env={**kept, "HF_HUB_OFFLINE": "1", **variables},
            cwd=cwd or self.root, capture_output=True, text=True, check=False,
        )  # fmt: skip

    def pip(self, *arguments: str) -> None:
        """Run pip in this environment, without network access."""
        subprocess.run(
            [sys.executable, "-m", "pip", "--python", str(self.python), *arguments],
            check=True, capture_output=True, text=True, cwd=self.root,
        )  # fmt: skip

    def install(self, *what: str) -> None:
        """Install a wheel, or an editable checkout."""
        self.pip("install", "--no-deps", "--no-index", "--no-build-isolation", *what)

    def files(self) -> set[Path]:
        """Return all installed files, except the bytecode that imports create."""
        return {path for path in self.site_packages.rglob("*") if "__pycache__" not in path.parts}


def make_environment(root: Path, lm_eval: str | None, lean_lm_eval: Path) -> Environment:
    """Create an environment without this project.

    Args:
        root: the folder of the environment.
        lm_eval: how lm-eval is installed: `whole` (as here, with all its tasks, which take 12 s), `wheel`, `editable`
            (a
            path in a `.pth` file), `editable finder` (a finder on `sys.meta_path`), or None for no lm-eval.
        lean_lm_eval: a folder with lm-eval without its tasks, for all choices except `whole`.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(root)], check=True)
    environment = Environment(root)
    site_packages = environment.site_packages
    # Links are used because this project's own `.pth` files must not be read in place, but other packages must be
    # found.
    shared = root / "shared"
    shared.mkdir()
    for folder in INSTALLED:
        for path in folder.iterdir():
            name = path.name.lower().replace("-", "_")
            if path.suffix != ".pth" and not name.startswith(("mera_ru_tasks", "lm_eval", "__editable__")):
                (shared / path.name).symlink_to(path)
    (site_packages / "shared.pth").write_text(f"{shared}\n")
    if lm_eval == "whole":
        for path in LM_EVAL.parent.glob("lm_eval*"):
            (site_packages / path.name).symlink_to(path)
    elif lm_eval == "wheel":
        shutil.copytree(lean_lm_eval, site_packages, dirs_exist_ok=True)
    elif lm_eval == "editable":
        (site_packages / "__editable__.lm_eval.pth").write_text(f"{lean_lm_eval}\n")
    elif lm_eval == "editable finder":
        # The format of setuptools: a module with a finder that maps the package's name to its folder.
        (site_packages / "__editable___lm_eval_finder.py").write_text(
            FINDER.replace("PACKAGE", str(lean_lm_eval / "lm_eval"))
        )
        (site_packages / "__editable__.lm_eval.pth").write_text(
            "import __editable___lm_eval_finder; __editable___lm_eval_finder.install()\n"
        )
        for path in lean_lm_eval.glob("*.dist-info"):
            shutil.copytree(path, site_packages / path.name)
    return environment


FINDER = """\
import sys
from importlib.util import spec_from_file_location


class Finder:
    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        return spec_from_file_location(fullname, "PACKAGE/__init__.py") if fullname == "lm_eval" else None


def install():
    sys.meta_path.append(Finder)
"""


def copy_lean_lm_eval(folder: Path) -> Path:
    """Copy lm-eval with a single task, so that scanning its tasks takes no time."""

    def only_one_task(directory: str, names: list[str]) -> list[str]:
        if Path(directory) != LM_EVAL / "tasks":
            return []
        return [name for name in names if (Path(directory) / name).is_dir() and name not in ("arc", "__pycache__")]

    shutil.copytree(LM_EVAL, folder / "lm_eval", ignore=only_one_task)
    for path in LM_EVAL.parent.glob("lm_eval-*.dist-info"):
        shutil.copytree(path, folder / path.name)
    return folder
