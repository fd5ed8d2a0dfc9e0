"""Releases too large for one file: folders of Parquet files that Spark writes."""
