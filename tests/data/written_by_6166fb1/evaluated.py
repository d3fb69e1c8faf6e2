"""Measures cases of every shape in Python, and keeps what programs keep: results, a calibration, a log of one's own."""

import json
from pathlib import Path

from older_judges import first, longer, points, polite, reword, rubrics

from judgeharness_integrations import AnswerCase, CalibrationSet, JudgeHarness, PairwiseCase
from judgeharness_integrations.execution import Budget
from judgeharness_integrations.verdictlog import SqlLog

pair = PairwiseCase(case_id="pair", input="When?", output="At 9.", output_b="Thank you for asking: we open at 9.")
answer = AnswerCase(case_id="answer", input="When?", output="Please come *at 9*, and bring **two** coins.")
results = [
    JudgeHarness.standard("pairwise").evaluate(longer, pair),
    JudgeHarness.quick("pairwise").evaluate(first, PairwiseCase(case_id="tilted", output="a", output_b="b")),
    JudgeHarness.standard("labels").evaluate(polite, answer),
    JudgeHarness.standard("scores").evaluate(points, answer),
    JudgeHarness(perturbations=["none"], repetitions=3, aggregation_rule="majority").evaluate(rubrics, answer),
    JudgeHarness(perturbations=["none"], repetitions=2, aggregation_rule="majority").evaluate(
        lambda case: "", AnswerCase(case_id="speechless", output="An answer."), judge_model="none"
    ),
]
with open("results.jsonl", "w", encoding="utf-8") as file:
    for result in results:
        file.write(json.dumps(result.to_dict(rows=True)) + "\n")
cases = [{"case_id": f"c{n}", "output": "Please." if n % 2 else "No."} for n in range(20)]
labels = CalibrationSet("people", [(case, "PASS" if n % 2 or n == 4 else "FAIL") for n, case in enumerate(cases)])
harness = JudgeHarness(perturbations=["none"], repetitions=1, aggregation_rule="majority")
harness.calibrate(polite, labels).save("calibration_python.json")
with SqlLog("logs/nightly.sqlite") as log:
    kept = {"log": log, "max_concurrency": 1}
    cut = JudgeHarness.standard("pairwise", run="nightly", budget=Budget(max_calls=4), **kept).evaluate(longer, pair)
    Path("printed/nightly.json").write_text(json.dumps(cut.to_dict()))
    reworded = JudgeHarness(
        perturbations=["none", "paraphrase"],
        repetitions=3,
        aggregation_rule="majority",
        rewriter=reword,
        run="reworded",
        budget=Budget(max_calls=6),
        **kept,
    )
    Path("printed/reworded.json").write_text(json.dumps(reworded.evaluate(polite, answer).to_dict()))
