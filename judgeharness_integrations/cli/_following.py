"""What comes after a calibration or a certificate: the command that keeps it, or the one that stands on it."""

from __future__ import annotations

from dataclasses import dataclass
from os.path import relpath
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, Literal

from judgeharness_integrations.analysis.certifying.cascade import PEOPLE
from judgeharness_integrations.judging.config import load_config
from judgeharness_integrations.verdictlog.runfolder import folder_of

from ._command import retold

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.certifying.cascade import Cascade
    from judgeharness_integrations.analysis.certifying.certificate import Certificate

    from ._label_options import CalibrateRequest, CertifyRequest


@dataclass(frozen=True, kw_only=True)
class Following:
    """The command that comes next, empty where none is known, and what has to be done before it."""

    next: str = ""
    before: tuple[str, ...] = ()


def after_calibrating(request: CalibrateRequest) -> Following:
    """Return what comes after a calibration: choosing, keeping it, or standing on it."""
    if request.holdout is not None and not request.final:
        chosen = request.out or Path("calibration.json")
        return Following(
            next=retold("calibrate", request, final=True, out=chosen),
            before=("these cases are to choose on; --final measures the chosen candidate on the others, once",),
        )
    if request.out is None:  # what was held back is measured once
        return Following(next="" if request.final else retold("calibrate", request, out=Path("calibration.json")))
    return _standing_on(request.out, "calibration", request.config, request.log, request.rule)


def after_certifying(request: CertifyRequest, certificate: Certificate, rule: str) -> Following:
    """Return what comes after a certificate: keeping it, or standing on it; after a refusal, labelling more cases."""
    if not certificate.granted:
        open_ = any(one.labelled < one.cases for one in certificate.selections)
        folder = folder_of(request.log)
        return Following(next="" if folder is None or not open_ else join(["judgeharness", "audit", str(folder)]))
    if request.out is None:
        return Following(next=retold("certify", request, out=Path("certificate.json")))
    return _standing_on(request.out, "certificate", request.config, request.log, rule)


def after_certifying_judges(request: CertifyRequest, cascade: Cascade) -> Following:
    """Return what comes after a cascade: keeping it, or the run that asks its judges in turn."""
    if not cascade.granted or request.config is None:  # which judges it holds for is not known without
        return Following()
    if request.out is None:
        return Following(next=retold("certify", request, out=Path("cascade.json")))
    found = _standing_on(request.out, "certificate", request.config, request.log, None)
    judges = ", ".join((*(step.judge for step in cascade.steps), PEOPLE))
    said = load_config(request.config).cascade
    asks = () if said else (f"put `cascade: [{judges}]` beside it: its judges are asked in turn",)
    return Following(next=found.next, before=(*found.before, *asks))


def _standing_on(
    out: Path, key: Literal["calibration", "certificate"], config: Path | None, log: Path | None, rule: str | None
) -> Following:
    """Return the run that stands on a file of a configuration, else the replay of the log beside it."""
    if config is None:
        return Following(next=join(["judgeharness", "replay", str(log), "--rule", str(rule), f"--{key}", str(out)]))
    known = load_config(config)
    held = None if known.calibration is None else known.calibration.file
    named = known.certificate if key == "certificate" else held
    said = named is not None and Path(known.resolve(named)).resolve() == out.resolve()
    put = f"put `{key}: {relpath(out.resolve(), config.resolve().parent)}` into {config}: later runs stand on it"
    return Following(next=join(["judgeharness", "run", str(config)]), before=() if said else (put,))
