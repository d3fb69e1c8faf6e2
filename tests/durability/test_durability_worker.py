"""The process that the kill tests kill is what they take it for."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest
from support.zygote import WORKER, Zygote, worker_environment

if TYPE_CHECKING:
    from pathlib import Path

    from support.counting_server import CountingServer

NOT_NEEDED = ("langchain", "langsmith", "openevals", "google.adk", "google.genai", "numpy", "pandas", "pyarrow", "ray")


@pytest.mark.slow
def test_a_durable_measurement_imports_no_framework(tmp_path: Path, server: CountingServer) -> None:
    order = {
        "run": "alone",
        "log": str(tmp_path / "log.sqlite"),
        "port": server.port,
        "cases": "alone",
        "count": 2,
        "concurrency": 4,
    }
    ran = subprocess.run(  # noqa: S603
        [*WORKER, json.dumps(order)], env=worker_environment(), capture_output=True, encoding="utf-8", check=True
    )
    modules = json.loads(ran.stdout)
    assert "judgeharness_integrations.verdictlog.sql.log" in modules
    assert not [
        name for name in modules if name.startswith((*NOT_NEEDED, "judgeharness_langchain", "judgeharness_adk"))
    ]
    assert server.total == 12


@pytest.mark.slow
def test_the_process_that_forks_has_one_thread(zygote: Zygote) -> None:
    assert zygote.ask(do="threads") == 1
