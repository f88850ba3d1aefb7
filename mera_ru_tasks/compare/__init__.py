"""Compare runs, and decide which models are significantly better than others.

select.py         the newest log of each model and task, the models' labels, and published scores
load.py           entries: the answers of one model to one task, from logs and score files
comparability.py  whether two entries may be compared, and what differs between them
stats.py          intervals, tests and corrections, as pure functions
results.py        scores, differences between models, means over tasks, significance groups
verdicts.py       verdicts as sentences
power.py          the power of a comparison, before the run
breakdowns.py     scores on subsets of the tasks
compare.py        the whole comparison
notes.py          notes in English and Russian (texts: notes.json)
render.py         tables for the terminal, Markdown and LaTeX
export.py         JSON, CSV, Markdown and LaTeX
html/             the report and the plots
"""
