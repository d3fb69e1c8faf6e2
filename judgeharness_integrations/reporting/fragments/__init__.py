"""Results and reports as pieces of HTML that a notebook shows: no script, nothing to fetch, the colours around them."""
