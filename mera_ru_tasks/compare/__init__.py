"""Compare runs: which model is better, and is the difference real?

select.py         the newest log of each model and task, the models' labels, and published scores
load.py           logs and the files next to them as entries: the answers of one model to one task
comparability.py  whether two entries may be compared, and what differs between them
stats.py          intervals, tests and corrections, as pure functions
results.py        scores, differences between models, means over tasks, significance groups
verdicts.py       verdicts in words
power.py          what a comparison can see, before the run
breakdowns.py     scores on parts of the tasks
compare.py        the whole comparison
notes.py          notes in English and Russian; their texts are in notes.json
render.py         tables for the terminal, Markdown and LaTeX
export.py         JSON, CSV, Markdown and LaTeX
html/             the report and the plots
"""
