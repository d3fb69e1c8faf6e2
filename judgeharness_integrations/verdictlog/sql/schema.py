"""The tables as statements name them; how they are made is in `migrations`."""

from __future__ import annotations

from sqlalchemy import column, table

from judgeharness_integrations.verdictlog.columns import REUSED_FROM, ROW_COLUMNS

__all__ = ["CLAIMS", "INDEXED", "PROBES", "REWRITES", "RUNS", "VERDICTS", "WRITTEN"]

WRITTEN = (*ROW_COLUMNS, REUSED_FROM)  # a copy of the attribute of that name, for queries
VERDICTS = table("judgeharness_verdicts", column("id"), *(column(name) for name in WRITTEN))
RUNS = table(
    "judgeharness_runs",
    *(column(name) for name in ("run", "state", "created_at", "updated_at", "version", "config", "parts")),
    *(column(name) for name in ("planned_cases", "planned_calls", "prices", "attempts_spent")),
)
CLAIMS = table("judgeharness_claims", *(column(name) for name in ("run", "pid", "since", "token")))
REWRITES = table("judgeharness_rewrites", *(column(name) for name in ("rewriter", "text_hash", "rewritten")))
PROBES = table("judgeharness_probes", column("probe_hash"), column("id"))  # of SQLite alone, as the next
INDEXED = table("judgeharness_indexed", column("up_to"))
