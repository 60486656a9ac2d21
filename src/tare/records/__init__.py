"""The run record: one versioned schema, JSON on disk while measuring, Parquet when collected."""
