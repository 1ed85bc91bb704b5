"""Fit the methods that the paper compares TRPCA with, as estimators of one form."""
