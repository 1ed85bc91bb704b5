"""Run from an input to a folder of results: decode, fit, mask, write."""
