"""The statistics of a check: exact tests against repetition, intervals, what a sample could have seen."""
