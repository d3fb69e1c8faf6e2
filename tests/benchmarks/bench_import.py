"""Wall time of importing the package, next to `import asyncio`, and of `judgeharness --help`, in fresh processes."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from _measuring import Target, report, spread

REPEATS = 9
IMPORTED = "import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
USED = "import time; t = time.perf_counter(); from judgeharness_integrations import *; print(time.perf_counter() - t)"


def import_ms(program: str) -> list[float]:
    """Return the milliseconds an import took inside fresh processes, the start of the interpreter left out."""
    runs = [subprocess.run([sys.executable, "-c", program], capture_output=True, check=True) for _ in range(REPEATS)]  # noqa: S603
    return [1000 * float(run.stdout) for run in runs]


def help_ms() -> list[float]:
    """Return the milliseconds of `judgeharness --help` in fresh processes; empty when there is no command yet."""
    command = Path(sys.executable).with_name("judgeharness")
    if find_spec("judgeharness_integrations.cli") is None or not command.exists():
        return []
    program = (
        "import subprocess, sys, time; t = time.perf_counter(); "
        f"done = subprocess.run([{str(command)!r}, '--help'], capture_output=True); "
        "print(time.perf_counter() - t if done.returncode == 0 else 'nan')"
    )
    return [value for value in import_ms(program) if value == value]  # noqa: PLR0124 - NaN: it failed


def main() -> int:
    """Measure in turn, so that a busy moment of the machine meets every side."""
    bare = import_ms(IMPORTED.format(module="asyncio"))
    package = import_ms(IMPORTED.format(module="judgeharness_integrations"))
    names = import_ms(USED)
    shown = help_ms()
    result = {
        "benchmark": "import",
        "asyncio_ms": spread(bare, 2),
        "package_ms": spread(package, 2),
        "all_names_ms": spread(names, 2),
        "help_ms": spread(shown, 2) if shown else None,
        "package_min_ms": round(min(package), 2),
        "package_to_asyncio": round(min(package) / min(bare), 3),
        "all_names_to_asyncio": round(min(names) / min(bare), 3),
    }
    if not shown:
        print("judgeharness --help does not run yet.", file=sys.stderr)
    return report(result, [Target("package_min_ms", 150.0)])


if __name__ == "__main__":
    sys.exit(main())
