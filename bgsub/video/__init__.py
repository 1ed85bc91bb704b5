"""Read and write frames: video files, image sequences and arrays."""
