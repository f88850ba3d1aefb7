"""A judging process for tests that kill it: `python judge_process.py COUNT` prints the scores as JSON."""

import json
import sys

from mera_ru_tasks.judge import config
from mera_ru_tasks.judge.run import judge
from tests.support.judge_cases import many

if __name__ == "__main__":
    settings = config.from_environment()
    assert settings is not None
    print(json.dumps([verdict.score for verdict in judge(many(int(sys.argv[1])), settings)]))
