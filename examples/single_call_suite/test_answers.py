"""Our new answers are preferred to the old ones: one call each, and all tests pass."""

import pytest
from house_model import HouseModel
from langchain_classic.evaluation import PairwiseStringEvalChain

evaluator = PairwiseStringEvalChain.from_llm(HouseModel())

PAIRS = [
    ("What is the capital of Peru?", "Lima, on the Pacific coast, with ten million people.", "Lima."),
    ("What does HTTP 429 mean?", "Too many requests: wait, then try again.", "You sent too many requests; slow down."),
    ("How long is a marathon?", "42.195 kilometres, or 26.2 miles.", "A marathon is 42.195 kilometres long."),
    ("Who wrote Ficciones?", "Jorge Luis Borges, in 1944, revised in 1956.", "Borges."),
    ("What is 17 squared?", "289", "17 squared is 289, because 17 times 17 is 289."),
    (
        "Why is the sky blue?",
        "Air scatters short wavelengths more than long ones.",
        "Rayleigh scattering favours blue.",
    ),
]


@pytest.mark.parametrize(("question", "new", "old"), PAIRS)
def test_the_new_answer_is_preferred(question: str, new: str, old: str) -> None:
    """The judge prefers the new answer."""
    answer = evaluator.evaluate_string_pairs(input=question, prediction=new, prediction_b=old)
    assert answer["value"] == "A"
