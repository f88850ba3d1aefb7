"""Run the notebook of docs/notebooks.md in a kernel: import, run, comparison and figure."""

from __future__ import annotations

import os
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.support.documents import REPOSITORY, blocks, page
from tests.support.tiny_model import save_tiny_model

pytestmark = pytest.mark.slow


def test_the_documented_cells_end_in_a_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = save_tiny_model(tmp_path / "model")
    cells = blocks(page("notebooks"), "python")
    quick = 'limit=10, gen_kwargs="max_gen_toks=4"'
    short = [cell.replace("MODEL", str(model)).replace("limit=None", quick).replace("cuda", "cpu") for cell in cells]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in short])
    # As after `%pip install` in a running kernel, the package can be imported, but the start-up hook has not run.
    monkeypatch.setenv("MERA_RU_NO_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(REPOSITORY), *filter(None, [os.environ.get("PYTHONPATH")])]))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": tmp_path}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.outputs]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    said = "".join(output.get("text", "") for output in outputs)
    assert re.search(r"^riddles_sample \S*model 0\.0 \[", said, re.MULTILINE), said
