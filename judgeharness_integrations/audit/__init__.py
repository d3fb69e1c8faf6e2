"""A page on which people label: pairs of a benchmark, cases and abstentions of a run."""
