"""`judgeharness benchmark convert`: a benchmark from the public release's format."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from judgeharness_integrations.benchmark.folder import SETTINGS, BenchmarkFolder, Settings, digest_of
from judgeharness_integrations.benchmark.publicformat import Imported, read_public
from judgeharness_integrations.benchmark.taxonomy import load_taxonomy
from judgeharness_integrations.cli._output import check_folder
from judgeharness_integrations.cli.benchmark.options import ConvertRequest
from judgeharness_integrations.reporting.terminal import console, safe
from judgeharness_integrations.verdictlog.plain import counted

_LONGEST = 600


def convert_files(request: ConvertRequest) -> None:
    """Write a benchmark's folder from files, and say what it holds."""
    files, out = request.files, request.out
    found = read_public(*files, taxonomy=load_taxonomy(request.taxonomy), generator=request.generator)
    check_folder(out, (SETTINGS,), overwrite=False)
    home = BenchmarkFolder(out)
    with home.held():
        home.write_documents(found.documents)
        home.write_taxonomy(found.taxonomy)
        home.write_pairs(found.pairs)
        home.write_settings(_settings(found, files))
    _print(found, files, out)


def _settings(found: Imported, files: Sequence[Path]) -> Settings:
    writers = {pair.generator for pair in found.pairs}
    return Settings(
        n=len(found.pairs),
        generator=writers.pop() if len(writers) == 1 else None,
        documents=digest_of(found.documents),
        taxonomy=digest_of([found.taxonomy]),
        imported_from=", ".join(file.name for file in files),
    )


def _print(found: Imported, files: Sequence[Path], out: Path) -> None:
    screen = console()
    texts, sources = counted(len(found.documents), "context"), ", ".join(map(str, files))
    screen.print(
        safe(f"{out}: {counted(len(found.pairs), 'pair')} on {texts} from {sources}, all unverified", _LONGEST),
        soft_wrap=True,
    )
    if found.renamed:
        names = ", ".join(f"{name} for {known}" for name, known in found.renamed.items())
        screen.print(safe(f"- taken as names of the taxonomy: {names}", _LONGEST), soft_wrap=True)
    if found.added:
        names = ", ".join(found.added)
        screen.print(safe(f"- added to the taxonomy without a definition: {names}", _LONGEST), soft_wrap=True)
    if found.ignored:
        screen.print(safe(f"- keys that have no place here: {', '.join(found.ignored)}", _LONGEST), soft_wrap=True)
    screen.print(
        safe(f"next: judgeharness benchmark judge {out} --states unverified --judges MODEL,...", _LONGEST),
        soft_wrap=True,
    )
