"""The properties of a judge, one module each, and what they share: samples, events beyond repetition, words."""
