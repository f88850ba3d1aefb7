"""Three Russian benchmarks of MERA Text 2.0 for EleutherAI's lm-evaluation-harness.

How data flows, room by room:

    data.py, checks.py   a benchmark's rows, from a local folder or the hub, checked  (benchmarks.py: what each one is)
    yaml_tasks/*.yaml    a row becomes a prompt                                       (paths.py: where the files are)
    strict.py            a response is read as the leaderboard reads it
    reading.py           a response is read as the model meant it
    scoring.py           a reading and a reference become numbers
    harness.py           the functions and filters that the YAML files name
    _autoload.py         how lm-eval finds all this
    runs.py, samples.py  what lm-eval leaves behind: logs found and read

This module imports nothing: it is loaded at every Python start (see _autoload.py).
"""

__version__ = "0.1.0"
