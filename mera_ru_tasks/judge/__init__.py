"""An LLM as judge: `judge_score` and `group_judge_score`.

    config.py      the settings, from the environment
    facts.py       who a judge is, as it is written beside its verdicts
    questions.py   which documents need a question, and what it holds
    prompt.py      a question becomes the prompt of prompts/*.jinja
    replies.py     a server's reply becomes a verdict, or is unreadable
    client.py      the server, through the openai SDK
    trial.py       the check before a run
    cache.py       verdicts that outlive a run
    engine.py      all questions of a task at once; joins the others

Nothing here is imported, and no server asked, unless a judge is configured.
"""
