"""A data set looked over before a run: what the loader would refuse, what looks wrong, and what is there.

sources.py      what the user named: a benchmark, a task, a data folder, a benchmark's folder
report.py       all of this for one benchmark
findings.py     one finding, from a check of the loader or from here
statistics.py   sizes, letters, answers, groups, prompts
suspicions.py   what the loader takes but an author should see
checksums.py    whether the files are as they were saved
similarity.py   near-doubled texts
fetching.py     a hub dataset saved for a machine without network
document.py     one document as a run sees it
"""
