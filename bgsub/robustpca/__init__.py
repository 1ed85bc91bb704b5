"""Robust PCA on matrices; knows nothing of video, files or the screen."""
