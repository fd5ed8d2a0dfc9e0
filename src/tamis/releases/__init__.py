"""What leaves: a file with its guarantee and certificate, and the questions it answers."""
