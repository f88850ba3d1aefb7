"""Adapters between this package and lm-eval: tasks, filters, few-shot sampling and prompts."""
