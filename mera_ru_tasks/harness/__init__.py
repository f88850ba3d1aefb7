"""Connect this package to lm-eval: tasks, filters, few-shot sampling and prompts."""
