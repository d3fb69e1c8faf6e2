"""What a ranking looks like: every picture as PNG and SVG."""
