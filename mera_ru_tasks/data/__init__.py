"""Benchmarks and their data: load, check, summarize and fetch them."""
