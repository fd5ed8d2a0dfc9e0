"""A collector that devices report to."""
