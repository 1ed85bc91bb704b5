"""Fit every method to the same frames and compare what it took and what it found."""
