"""Score frames by their errors, and find outlier frames, events and lasting changes."""
