"""Define the benchmarks, and load, check, summarize and fetch their data."""
