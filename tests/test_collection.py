"""Who collects a room that is not about a framework does not wait for one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
FRAMEWORKS = (
    *("langchain_core", "langchain_classic", "langchain_openai", "google.adk", "google.genai", "langsmith"),
    *("openevals", "litellm", "openai", "anthropic", "ray"),
)
LEFT_OUT = {
    *("adk_adapter", "langchain_adapter", "langsmith_adapter", "openevals_adapter"),
    *("conformance", "hardening", "ray_executor"),
    *("benchmarks", "data"),  # nobody collects them
}
COLLECT = f"""
import sys, pytest

class Loaded:
    def pytest_collection_finish(self, session):
        print("collected", len(session.items), "loaded", sorted(set({FRAMEWORKS!r}) & sys.modules.keys()))

pytest.main(["-n0", "-qq", "--collect-only", "-pno:cacheprovider", *sys.argv[1:]], plugins=[Loaded()])
"""


@pytest.mark.slow
@pytest.mark.untraced
def test_no_framework_is_imported_before_a_test_needs_it() -> None:
    rooms = [str(room) for room in TESTS.iterdir() if room.is_dir() and room.name not in LEFT_OUT]
    ran = subprocess.run(  # noqa: S603
        [sys.executable, "-c", COLLECT, *rooms], cwd=TESTS.parent, capture_output=True, text=True, check=False
    )
    told = next(line for line in ran.stdout.splitlines() if line.startswith("collected "))
    assert told.endswith(" loaded []"), told
    assert int(told.split()[1]) > 5_000, told
