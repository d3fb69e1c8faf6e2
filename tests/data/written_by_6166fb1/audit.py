"""Labels the pairs of a benchmark as two people would on the page: python audit.py FOLDER."""

import sys
from pathlib import Path

from judgeharness_integrations.audit.assigning import read_assignment
from judgeharness_integrations.audit.labels import label_log

folder = Path(sys.argv[1])
pairs = read_assignment(folder).uniform
for who, labels in (("anna", ["clean", "noise", "clean", "clean"]), ("ben", ["clean", "noise", "ambiguous", "clean"])):
    for pair, label in zip(pairs, labels):
        label_log(folder, who).append(pair, label, "looked at")
