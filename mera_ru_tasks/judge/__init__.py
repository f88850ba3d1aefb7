"""Judge responses with an LLM, for the metrics `judge_score` and `group_judge_score`.

    config.py     read the settings from the environment; identify judges and questions
    questions.py  decide which documents need a question; render the prompt of the judge
    client.py     send one question to the server and parse the verdict
    cache.py      store verdicts for later runs
    run.py        check the judge before a run; send all questions of a task concurrently

No request is sent unless a judge is configured.
"""
