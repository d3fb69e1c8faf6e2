"""The half of a check that asks: the cases drawn, whom a probe attacks, what was not asked and why."""
