from langsmith.evaluation import StringEvaluator  # expect: JH010


def _exact(run_input, run_output, answer):
    return {"score": run_output == answer}


exact = StringEvaluator(evaluation_name="exact", grading_function=_exact)
