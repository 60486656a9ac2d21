"""Data sets, fetched or made on the host before anything is timed."""
