"""Store the frames of an input within the memory limit, and fit a method to them."""
