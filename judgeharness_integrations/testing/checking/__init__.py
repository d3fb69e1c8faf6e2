"""Is this judge any good? A judge is asked anew, under changes and attacks that must not matter."""
