"""Private centres of clusters, as a file."""
