"""`judgeharness benchmark sample`: draw, write, and print what was drawn of each stratum."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from rich.text import Text

from judgeharness_integrations.benchmark.folder import BenchmarkFolder, write_whole
from judgeharness_integrations.benchmark.selection import COLUMNS, Sample, in_states, states_named, stratified
from judgeharness_integrations.cli._output import print_json
from judgeharness_integrations.cli.benchmark.options import SampleRequest
from judgeharness_integrations.cli.benchmark.tables import columns_named
from judgeharness_integrations.reporting.terminal import console, safe, table

_SAMPLE = "sample.json"
_LONGEST = 400


def draw_sample(request: SampleRequest) -> None:
    """Draw a sample of a benchmark's pairs and write it."""
    folder = BenchmarkFolder(request.folder)
    folder.check()
    pairs = in_states(folder.pairs(), states_named(request.states), where=str(folder.path))
    drawn = stratified(pairs, n=request.n, by=columns_named(request.by, COLUMNS), seed=request.seed)
    out = request.out or request.folder / _SAMPLE
    text = json.dumps(drawn.to_dict(), indent=2, ensure_ascii=False) + "\n"
    write_whole(out, [text])
    if request.as_json:
        print_json(drawn.to_dict())
    else:
        _print(drawn, len(pairs), request, out)


def _print(drawn: Sample, population: int, request: SampleRequest, out: Path) -> None:
    screen = console()
    rows: list[Sequence[str | Text]] = [
        (*(safe(str(stratum.values[name])) for name in drawn.by), str(stratum.population), str(stratum.sampled))
        for stratum in drawn.strata
    ]
    rows.append(
        (*(safe("together" if not place else "") for place, _ in enumerate(drawn.by)), str(population), str(drawn.n))
    )
    screen.print(table(f"sample, seed {drawn.seed}", (*drawn.by, "pairs", "sampled"), rows, texts=len(drawn.by)))
    screen.print(safe(f"written to {out}", _LONGEST), soft_wrap=True)
    screen.print(
        safe(f"next: judgeharness benchmark judge {request.folder} --sample {out} --judges MODEL,...", 2 * _LONGEST),
        soft_wrap=True,
    )
