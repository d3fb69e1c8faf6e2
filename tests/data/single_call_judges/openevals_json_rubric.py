from openevals.json import create_json_match_evaluator

extraction = create_json_match_evaluator(  # expect: JH002
    aggregator="average",
    rubric={"summary": "Does the summary keep every number?"},
    model="openai:gpt-4o",
)
