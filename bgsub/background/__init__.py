"""What joins video and robust PCA: models of a background, and the way from frames to results."""
