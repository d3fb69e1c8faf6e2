"""Which judge to use: judges and pairs ranked by who was right about what."""
