"""Segment frames into objects, their shadows and the background."""
