"""Three Russian benchmarks of MERA Text 2.0 for EleutherAI's lm-evaluation-harness.

How data flows, room by room:

    data.py, checks.py   a benchmark's rows, from a folder or the hub (benchmarks.py: what each is; files.py: its forms)
    yaml_tasks/*.yaml    a row becomes a prompt, by prompt.py                         (paths.py: where the files are)
    strict.py            a response is read as the leaderboard reads it
    reading/             a response is read as the model meant it
    scoring.py           a reading and a reference become numbers
    harness.py           the functions and filters that the YAML files name  (shots.py: the shots before a prompt)
    own.py               a user's own dataset as a task            (own_dataset.py, task_files.py: what its file says)
    _autoload.py         how lm-eval finds all this                                   (running.py: and starts quicker)
    runs.py, samples.py  what lm-eval leaves behind: logs found and read           (run_settings.py: under what)
    submission/          logs become a leaderboard submission; any submission checked
    inspection/          data looked over, fetched and shown
    judge/               an LLM as judge, in the harness and after the run
    rescoring.py         scores from the logs alone                   (rescored_files.py: what is written)
    comparison/          runs compared: scores, paired differences, breakdowns (statistics.py, bootstrap.py: how sure)
    report/              a comparison as one HTML page, and its plots
    cli/                 the command `mera-ru`, a file for each of its commands

This module imports nothing, so that whoever needs one room pays for no other.
"""

__version__ = "0.1.0"
