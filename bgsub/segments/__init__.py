"""Run a long film in segments, each with a fit of its own, and join their results."""
