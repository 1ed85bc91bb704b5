"""Measure masks against ground truth."""
