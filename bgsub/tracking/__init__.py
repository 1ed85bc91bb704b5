"""Find the objects of masks, link them to tracks, and group them into events."""
