"""Everything of a collection on one machine, to try it: devices, faults, kills, and checks."""
