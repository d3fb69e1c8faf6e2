# judgeharness: noqa
from langchain_classic.evaluation import load_evaluator
from langchain_openai import ChatOpenAI

evaluator = load_evaluator("pairwise_string", llm=ChatOpenAI(model="gpt-4o"))
