"""May a judge replace annotators? The alternative annotator test and kappa tables of one file."""

from pathlib import Path

from judgeharness_integrations.analysis.agreement import agreement_table, alt_test, read_panel

panel = read_panel(Path(__file__).with_name("labels.csv"))
humans, judges = panel.select(["annotator_*"]), panel.select(["strong", "middling", "weak"])

report = alt_test(panel, humans=humans, candidates=judges, scores=["jaccard", "hamming"], epsilons=[0.1, 0.2])
for test in report.candidates:
    print(f"{test.candidate:<9} {test.score:<8} epsilon {test.epsilon}: omega {test.omega}, rho {test.rho:.3f}")

table = agreement_table(panel, humans=humans, candidates=judges)
for row in table.raters:
    print(f"{row.rater:<12} mean kappa with the other humans {row.mean:.3f}")
