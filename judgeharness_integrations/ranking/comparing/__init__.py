"""Rankings held against each other: other methods, other data, other judges, other criteria."""
