"""A judge whose every bias is a number, the cases it is asked about, and what follows in closed form."""
