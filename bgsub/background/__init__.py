"""Hold what a fit has learned of a scene, and render backgrounds and masks from it."""
