"""Coefficients of agreement beyond chance, their intervals, and who agrees with whom."""
