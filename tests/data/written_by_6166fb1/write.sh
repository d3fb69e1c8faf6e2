#!/bin/bash
# Wrote the documents beside it with the code of 6166fb1, offline: bash write.sh EXAMPLES, in a copy of this folder that
# holds the inputs alone (*.csv, *.yaml, *.py). EXAMPLES is the folder `examples` of that commit, which is installed, and
# whose tests are in PYTHONPATH for compared.py. Exit codes 1 and 3 are meant: gates and checks fail, answers are missing.
set -e
examples=$1
export NO_COLOR=1 COLUMNS=100 LANGSMITH_TRACING=false
mkdir -p printed logs labels models
cp -r "$examples"/judge_benchmark/documents_md/garden documents
cp "$examples"/judge_benchmark/*.py "$examples"/judge_benchmark/models.yaml models

# runs
judgeharness run pairs.yaml --out runs/pairs --yes
judgeharness run graded.yaml --out runs/graded --yes || test $? = 3
judgeharness run rubrics.yaml --out runs/rubrics --yes
judgeharness run points.yaml --out runs/points --yes
judgeharness run careful.yaml --out runs/careful --yes
judgeharness run unnamed.yaml --out runs/unnamed --yes
judgeharness run unnamed.yaml --out runs/broken_off --yes --budget-calls 30 || test $? = 3
judgeharness run careful.yaml --out runs/broken_off_careful --yes --budget-calls 30 || test $? = 3
judgeharness run points.yaml --out runs/broken_off_points --yes --budget-calls 5 || test $? = 3
for run in pairs graded rubrics points careful unnamed broken_off broken_off_careful broken_off_points; do
  judgeharness runs runs/$run --json > printed/runs-$run.json
  judgeharness report runs/$run --no-step-summary --json > printed/report-$run.json
done
judgeharness report runs/graded --no-step-summary --json --fail-under 'accuracy>=0.6' --max-abstention 0.9 \
  --min-consistency 0.5 > printed/gates-graded.json || test $? = 1 -o $? = 3

# logs
judgeharness log export --log runs/pairs/verdicts.sqlite --out logs/pairs.csv
judgeharness log export --log runs/graded/verdicts.sqlite --out logs/graded.parquet
judgeharness log export --log runs/points/verdicts.sqlite --out logs/points.jsonl
gzip -9n logs/points.jsonl
judgeharness log import logs/pairs.csv --log logs/several.sqlite --run monday
judgeharness log import runs/rubrics/verdicts.jsonl --log logs/several.sqlite --run tuesday
judgeharness replay logs/pairs.csv --rule swap_consensus --json > printed/replay-csv.json
judgeharness replay logs/graded.parquet --rule majority --json > printed/replay-parquet.json
judgeharness replay logs/points.jsonl.gz --rule median --json > printed/replay-jsonl-gz.json
judgeharness replay runs/graded/verdicts.jsonl --rule 'supermajority(2/3)' --json > printed/replay-jsonl.json
judgeharness replay logs/several.sqlite --run tuesday --rule majority --json > printed/replay-sqlite.json
judgeharness replay runs/rubrics/verdicts.sqlite --rule majority --json > printed/replay-rubrics.json

# comparisons, rankings, agreement, rates, plans of those logs
judgeharness compare runs/pairs runs/pairs --judge-a longer --judge-b first --permutations 50 --json > printed/compare-pairs.json
judgeharness compare runs/graded runs/graded --judge-a polite --judge-b strict --permutations 50 --json > printed/compare-graded.json
judgeharness rank logs/pairs.csv --by domain --json > printed/rank.json
judgeharness agreement kappa runs/graded/verdicts.jsonl --raters polite,strict --resamples 20 --json > printed/kappa.json
judgeharness plan --pilot runs/graded/verdicts.jsonl --judge polite --width 0.2 --json > printed/plan.json

# labels of people
printf 'p\nf\np\np\nf\np\n' | judgeharness label unlabelled.csv --annotator anna --out labels/anna.jsonl --json > printed/label-anna.json
printf 'f\nf\nq\n' | judgeharness label unlabelled.csv --annotator ben --out labels/ben.jsonl --json > printed/label-ben.json
judgeharness label unlabelled.csv --annotator cleo --sheet labels/cleo.csv
python fill.py labels/cleo.csv labels/cleo_filled.csv
judgeharness label unlabelled.csv --from-sheet labels/cleo_filled.csv --out labels/cleo.jsonl
judgeharness label unlabelled.csv --annotator dora --sheet labels/dora.csv
python fill.py labels/dora.csv labels/dora_filled.csv
judgeharness label --merge labels/anna.jsonl labels/ben.jsonl labels/cleo.jsonl --cases unlabelled.csv --out labels/gold.csv --json > printed/labels.json
judgeharness agreement kappa labels/anna.jsonl labels/cleo.jsonl --raters 'anna,cleo' --resamples 20 --json > printed/kappa-people.json
judgeharness agreement alt-test "$examples"/annotator_study/labels.csv --humans 'annotator_*' --candidate strong,weak --json > printed/alt-test.json

# calibrations, drift, corrected rates
polite='--judge polite --yes'
judgeharness calibrate graded.yaml --labels answers.csv $polite --out calibration.json || test $? = 3
judgeharness calibrate --log runs/graded/verdicts.jsonl --rule majority --judge strict --out calibration_log.json || test $? = 3
judgeharness calibrate --log runs/points/verdicts.jsonl --rule median --out calibration_points.json || test $? = 3
judgeharness calibrate careful.yaml --labels answers.csv --yes --out calibration_careful.json
judgeharness calibrate graded.yaml --labels answers.csv $polite --check calibration.json --json > printed/drift.json || test $? = 1 -o $? = 3
judgeharness calibrate --log runs/graded/verdicts.jsonl --rule majority --judge strict --check calibration_log.json --json > printed/drift-log.json || test $? = 1 -o $? = 3
judgeharness run calibrated.yaml --out runs/calibrated --yes || test $? = 3
judgeharness report runs/calibrated --no-step-summary --json > printed/report-calibrated.json
judgeharness corrected-rate runs/graded/verdicts.jsonl --judge polite --rule majority --calibration calibration.json --json > printed/corrected-rate.json

# checks of judges
judgeharness check graded.yaml --judge strict --out checked --yes || test $? = 1
judgeharness check --log checked/verdicts.jsonl --json > printed/check-log.json || test $? = 1

# a benchmark, its people and what comes of it
models='--models models/models.yaml --yes'
judgeharness benchmark generate documents --generator models/offline_models.py:generator \
  --verifier models/offline_models.py:verifier --n 9 --rounds 1-2 --out bench $models --json > printed/benchmark-generate.json
judgeharness benchmark judge bench $models --json --judges \
  models/offline_models.py:judge_strong,models/offline_models.py:judge_weak \
  --mode both > printed/benchmark-judge.json
judgeharness benchmark sample bench --n 3
judgeharness audit bench --assign anna,ben --n 4 --overlap 1 --suspicious 1
python audit.py bench
judgeharness audit bench --status --json > printed/audit-status.json
judgeharness benchmark rank bench --json > printed/benchmark-rank.json
judgeharness benchmark curate bench --cut 0 --json > printed/benchmark-curate.json
judgeharness benchmark stats bench --models models/models.yaml --json > printed/benchmark-stats.json
judgeharness benchmark export bench --out exported
judgeharness benchmark export bench --out public --format rankjudge
judgeharness benchmark convert public/held_out.jsonl --out converted
judgeharness benchmark stats converted --json > printed/benchmark-stats-converted.json
judgeharness benchmark discover "$examples"/judge_benchmark/transcripts.jsonl --model models/offline_models.py:observer \
  --out discovered $models --json > printed/benchmark-discover.json
judgeharness calibrate --log bench/verdicts.sqlite --run pairwise --rule swap_consensus --judge judge_strong \
  --labels exported/held_out_cases.jsonl --json > printed/calibration-benchmark.json || test $? = 3
judgeharness benchmark generate documents --generator models/offline_models.py:generator \
  --verifier models/offline_models.py:verifier --n 9 --rounds 1-2 --out broken_off_bench $models --max-calls 30 --json \
  > printed/benchmark-broken_off.json || test $? = 3

# results that a test session and a program recorded
JUDGEHARNESS_RECORD=recorded.jsonl python evaluated.py
pytest -q -p no:cacheprovider recorded_suite.py --judgeharness-out session.jsonl || test $? = 1
for file in recorded session; do
  judgeharness report $file.jsonl --no-step-summary --json > printed/report-$file.json
done

# comparisons of LangSmith experiments
python compared.py

# Google ADK
mkdir adk
cp -r "$examples"/adk_agent adk
(cd adk && adk eval adk_agent adk_agent/weather.test.json) || test $? = 1
(cd adk && python -c 'import judgeharness_adk; print(judgeharness_adk.load_results(".").report())') > printed/adk.txt
