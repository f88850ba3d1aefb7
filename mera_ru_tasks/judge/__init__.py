"""Judge responses with an LLM: `judge_score` and `group_judge_score`.

    config.py     the settings, from the environment; the identity of a judge and a question
    questions.py  which documents need a question, and the prompt that asks it
    client.py     the server: one question in, one verdict out
    cache.py      verdicts that outlive a run
    run.py        the preflight check, and all questions of a task at once

Nothing here is imported, and no server is asked, unless a judge is configured.
"""
