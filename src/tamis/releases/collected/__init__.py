"""What devices have reported: histograms, heavy hitters and quantiles, as a file."""
