import dspy


class Assess(dspy.Signature):
    """Assess the quality of a tweet along the specified dimension."""

    assessed_text = dspy.InputField()
    assessment_question = dspy.InputField()
    assessment_answer: bool = dspy.OutputField()


def metric(gold, pred, trace=None):
    engaging = "Does the assessed text make for a self-contained, engaging tweet?"
    verdict = dspy.Predict(Assess)(assessed_text=pred.output, assessment_question=engaging)  # expect: JH002
    return verdict.assessment_answer
