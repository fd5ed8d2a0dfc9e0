"""Private k-means: points on a grid of whole numbers, seeds, and Lloyd's steps with exact noise."""
