"""Exit codes of the command, the same for every command.

1 is for gates alone: one of `--fail-under` and the like did not pass, `calibrate --check` found drift. 3 goes before 1:
where judges did not answer, the measurement itself is not whole; the gates are printed all the same. 130 is
128 + SIGINT, 143 is 128 + SIGTERM: both leave what was answered until then.
"""

from __future__ import annotations

from typing import Final

OK: Final = 0
GATE_FAILED: Final = 1
USAGE: Final = 2
NOT_GRADED: Final = 3
INTERRUPTED: Final = 130
PIPE_CLOSED: Final = 141
TERMINATED: Final = 143
