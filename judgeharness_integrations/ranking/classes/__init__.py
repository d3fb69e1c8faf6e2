"""Which classes judges prefer, and which they mistake for which."""
