"""One cassette on disk: lock, writer, notes, reader, index."""
