"""Score responses without lm-eval: exact match, answer extraction and the metrics."""
