"""Frames in and out: video files, image sequences and arrays; knows nothing of PCA."""
