"""The verdict log: every answer of every judge is a row, failures included."""

from judgeharness_integrations.verdictlog.files import read_log, write_log
from judgeharness_integrations.verdictlog.log import JsonlLog, MemoryLog, VerdictLog
from judgeharness_integrations.verdictlog.row import Outcome, Verdict, VerdictRow

__all__ = ["JsonlLog", "MemoryLog", "Outcome", "Verdict", "VerdictLog", "VerdictRow", "read_log", "write_log"]
