"""Benchmarks of bgsub: each figure is a ratio to an alternative in the same run."""
