"""The right half, which measures: pure functions of rows, with no clock, no network and no chance without a seed."""
