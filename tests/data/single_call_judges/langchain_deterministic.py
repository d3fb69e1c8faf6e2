from langchain_classic.evaluation import EmbeddingDistanceEvalChain, ExactMatchStringEvaluator, load_evaluator

exact = ExactMatchStringEvaluator(ignore_case=True)
pattern = load_evaluator("regex_match", flags=2)
valid = load_evaluator("json_validity")
distance = load_evaluator("string_distance")
embedding = EmbeddingDistanceEvalChain()


def score_all(answers, reference):
    scores = [distance.evaluate_strings(prediction=one, reference=reference)["score"] for one in answers]
    return sum(scores) / len(scores)
