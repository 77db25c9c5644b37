"""Pictures, voice and files: kept by their hashes, known by their content, read where that is possible."""
