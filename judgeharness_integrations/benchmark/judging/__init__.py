"""Judges of pairs and of single conversations, and which of them are asked about what."""
