"""Pages to look at: one HTML file for a result, and one that lists several."""

PAGE = "report.html"  # what a folder is shown by
