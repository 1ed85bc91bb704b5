"""Repeat the experiments of the TRPCA paper."""
