from openevals.exact import exact_match
from openevals.json import create_json_match_evaluator
from openevals.string.levenshtein import levenshtein_distance

fields = create_json_match_evaluator(aggregator="all")


def check(outputs, reference):
    return [f(outputs=outputs, reference_outputs=reference) for f in (exact_match, fields, levenshtein_distance)]
