"""Read the logs that lm-eval writes, and score them again."""
