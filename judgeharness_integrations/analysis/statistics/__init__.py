"""Statistics: every interval, test, power and search of the package that more than one room uses. Pure functions."""
