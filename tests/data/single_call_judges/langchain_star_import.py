from langchain_classic.evaluation import *
from langchain_openai import ChatOpenAI

judge = load_evaluator("score_string", llm=ChatOpenAI(model="gpt-4o"))  # expect: JH002
