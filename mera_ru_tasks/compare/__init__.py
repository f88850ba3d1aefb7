"""Which model is better, and is it real.

    choosing.py     which logs are compared, and what each model is called
    answers.py      one log of lm-eval as answers, checked
    rescored.py     verdicts and scores that were made after the run
    entries.py      the logs as entries: one model on one task
    pairing.py      whether two entries may be compared, and what differs
    standards.py    whether a score of theirs is of one judge and one reference
    chance.py       what a guesser scores
    results.py      scores, paired differences, means over tasks
    breakdowns.py   where scores come from
    comparing.py    all of it together
    remarks.py      what is to be known beside the numbers, in words; the words are in remarks.json
    tables.py       a comparison as tables of text
    export.py       a comparison as JSON, CSV and Markdown
    terminal.py     a comparison in the terminal

The statistics themselves stand in mera_ru_tasks/statistics.py.
"""
