"""Watch a stream that does not end: learn as it goes, and say what happens while it happens."""
