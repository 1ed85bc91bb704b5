"""Pictures of results; gets plain data and knows nothing of videos. Imports matplotlib."""
