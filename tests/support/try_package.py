"""Install the wheel and the source distribution in new environments, and run the first commands of a user.

`make package` runs this after building both. Packages that are already installed are shared, so nothing is downloaded.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.support.environments import copy_lean_lm_eval, make_environment

TRIES = (
    ("-c", "import sys; from mera_ru_tasks.cli import main; sys.argv = ['mera-ru', '--version']; main()"),
    ("-c", "from mera_ru_tasks import score_response"),
    ("-m", "lm_eval", "--model", "dummy", "--tasks", "mera_ru_sample", "--limit", "2", "--output_path", "out"),
)


def main(folder: Path) -> int:
    """Test each distribution in a folder, and return the exit status."""
    distributions = [*folder.glob("*.whl"), *folder.glob("*.tar.gz")]
    if len(distributions) != 2:
        print(f"{folder} must contain one wheel and one source distribution, not {len(distributions)} files.")
        return 1
    for distribution in distributions:
        with tempfile.TemporaryDirectory() as temporary:
            root = Path(temporary)
            environment = make_environment(root / "venv", "wheel", copy_lean_lm_eval(root / "lean"))
            environment.install(str(distribution.resolve()))
            for arguments in TRIES:
                ended = environment.run(*arguments, cwd=root)
                if ended.returncode:
                    print(f"{distribution.name}: python {' '.join(arguments)} failed:\n{ended.stdout}{ended.stderr}")
                    return 1
            if not list(root.glob("out/**/results_*.json")):
                print(f"{distribution.name}: the run wrote no results.")
                return 1
        print(f"{distribution.name}: installed and tested.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
