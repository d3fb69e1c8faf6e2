"""From rows to who was right about what: decisions under a declared rule, and the credit they earn."""
