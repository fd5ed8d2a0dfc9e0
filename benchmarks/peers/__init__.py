"""Other libraries at the same guarantee, each in an environment of its own."""
