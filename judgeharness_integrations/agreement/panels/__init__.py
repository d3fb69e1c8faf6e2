"""Panels: who said what about which item, from logs, annotation JSON and tables."""
