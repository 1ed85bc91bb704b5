"""Pages to look at: one HTML file for a result, and one that lists several."""
