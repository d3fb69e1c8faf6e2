"""Strings and comments speak of judges: load_evaluator("pairwise_string") is not called here."""

# evaluator = load_evaluator("pairwise_string", llm=llm)
# judge = create_llm_as_judge(prompt=PROMPT)
NOTE = "Do not use LangChainStringEvaluator or `client.chat.completions.create` as a judge: [[A]] is better than [[B]]."


def describe():
    return NOTE
