from __future__ import annotations

import sys
from pathlib import Path

import pytest

from judgeharness_integrations import CalibrationReport
from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.calibration import Judged, measure_calibration
from judgeharness_integrations.cli import main
from judgeharness_integrations.reporting.figures import draw_risk_coverage

SURE = [("PASS", "PASS", 1.0)] * 20 + [("PASS", "FAIL", 0.6)] * 5 + [("FAIL", "FAIL", 0.8)] * 9


def report_of(**criteria: list[tuple[str, str, float | None]]) -> CalibrationReport:
    measured = {
        name: measure_calibration(
            [Judged(gold=gold, verdict=said, status="decided", confidence=sure) for gold, said, sure in answers],
            criterion=name,
        )
        for name, answers in criteria.items()
    }
    return CalibrationReport(
        name="people",
        judge="<b>$judge$</b>",
        source="human",
        consensus="majority",
        excluded_ties=0,
        criteria=measured,
        measured_at="2026-01-05T09:00:00+00:00",
    )


@pytest.mark.slow
def test_a_line_for_each_criterion_with_an_order(tmp_path: Path) -> None:
    files = draw_risk_coverage(report_of(tone=SURE, _facts=SURE[:25], once=[("PASS", "PASS", None)]), tmp_path)
    assert [path.name for path in files] == ["risk_coverage.png", "risk_coverage.svg"]
    shown = files[1].read_text(encoding="utf-8")
    assert all(text in shown for text in ("tone (34 labelled)", "_facts (25 labelled)", "&lt;b&gt;$judge$&lt;/b&gt;"))
    assert "once" not in shown


def test_without_a_curve_there_is_nothing_to_draw(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no risk-coverage curve to draw"):
        draw_risk_coverage(report_of(once=[("PASS", "PASS", None)]), tmp_path)


@pytest.mark.slow
def test_the_command_draws_the_curve_of_a_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = ["case_id,verdict,gold"]
    lines += [
        f"c{place},{said},PASS" for place in range(12) for said in ("PASS", "PASS", "PASS" if place % 3 else "FAIL")
    ]
    log = tmp_path / "log.csv"
    log.write_text("\n".join(lines), encoding="utf-8")
    folder = tmp_path / "plots"
    assert main(["calibrate", "--source", "human", "--log", str(log), "--rule", "majority", "--plot", str(folder)]) == 0
    assert f"drawn: {folder / 'risk_coverage.svg'}" in capsys.readouterr().out
    assert (folder / "risk_coverage.png").stat().st_size > 5000


@pytest.mark.parametrize("drawer", [True, False])
def test_a_picture_that_cannot_be_drawn_is_refused_before_a_judge_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *, drawer: bool
) -> None:
    (tmp_path / "judges.py").write_text("def never(case):\n    raise SystemExit('asked')\n", encoding="utf-8")
    (tmp_path / "cases.csv").write_text("case_id,output,gold\nc1,x,PASS\n", encoding="utf-8")
    config = tmp_path / "config.yaml"
    judges = "judges: [{name: j, callable: 'judges:never'}]\ncases: cases.csv\n"
    harness = "harness: {perturbations: [none], repetitions: 1, aggregation_rule: majority}\n"
    config.write_text(judges + harness, encoding="utf-8")
    plots = tmp_path / ("cases.csv" if drawer else "plots")
    if not drawer:
        monkeypatch.setitem(sys.modules, "matplotlib", None)
    out = tmp_path / "cal.json"
    given = [
        "calibrate",
        "--source",
        "human",
        str(config),
        "--labels",
        str(tmp_path / "cases.csv"),
        "--out",
        str(out),
        "--plot",
        str(plots),
    ]
    assert main([*given, "--yes"]) == 2
    told = capsys.readouterr().err
    assert ("is a file: name a folder" if drawer else "'.[report]'") in told
    assert not out.exists()
