"""The distributed engine: Spark 4, classic or Connect."""
