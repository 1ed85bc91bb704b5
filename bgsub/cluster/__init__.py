"""Share the inputs of a batch, or the segments of a film, among many machines."""
