from langchain_classic.evaluation import load_evaluator
from langchain_core.prompts import PromptTemplate
from langchain_openai import ChatOpenAI

PROMPT = PromptTemplate.from_template(
    """Here are two summaries of one article.

[[A]] {prediction}
[[B]] {prediction_b}

Input: {input}
Write [[A]] if the first one is better, [[B]] if the second one is."""
)
judge = load_evaluator("pairwise_string", llm=ChatOpenAI(model="gpt-4o"), prompt=PROMPT)  # expect: JH002
