"""Fills a label sheet as a person would: python fill.py SHEET FILLED; what says "please" or "Thank" passes."""

import csv
import sys

with open(sys.argv[1], newline="", encoding="utf-8") as file:
    lines = list(csv.DictReader(file))
for line in lines:
    line["label"] = "PASS" if any(word in line["output"] for word in ("Please", "Thank")) else "FAIL"
lines[-1]["comment"] = "not sure about this one"
with open(sys.argv[2], "w", newline="", encoding="utf-8") as file:
    writer = csv.DictWriter(file, list(lines[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
