"""From logs to a leaderboard submission, and the check of any submission.

The archive holds, for each of the leaderboard's tasks, `TITLE.json` with
`{"data": {"test": [{"outputs": "the response", "meta": {"id": 1}}, …]}}`, and `logs_public.zip` with the sample and
results logs of the same runs.

    rules.py     what the leaderboard fixes in a run
    collect.py   logs chosen, responses read
    expected.py  the ids that must be there
    draft.py     all of this put together, with every problem and what the user should know
    archive.py   the archive written, the same input to the same bytes
    verify.py    any archive checked as the scorer would
"""
