"""The experiments of the paper, each with one command: ``python -m benchmarks.paper NAME``."""
