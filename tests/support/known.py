"""The names of all tasks."""

from __future__ import annotations

import re
from functools import cache

from lm_eval.tasks import TaskManager

from mera_ru_tasks.paths import yaml_folder
from tests.support.documents import DOCUMENTS, blocks


@cache
def known_tasks() -> frozenset[str]:
    """Return this package's tasks, groups and tags, and those that YAML blocks in the documents define."""
    ours = TaskManager(include_defaults=False, include_path=str(yaml_folder())).all_tasks
    made = [re.findall(r"^task: (\w+)$", block, re.MULTILINE) for doc in DOCUMENTS for block in blocks(doc, "yaml")]
    return frozenset(ours).union(*made)
