from langchain_classic.evaluation import load_evaluator
from langchain_openai import ChatOpenAI

llm = ChatOpenAI(model="gpt-4o")
smoke = load_evaluator("criteria", criteria="conciseness", llm=llm)  # noqa: JH002 - only a smoke test
other = load_evaluator("criteria", criteria="depth", llm=llm)  # noqa
third = load_evaluator("criteria", criteria="detail", llm=llm)  # noqa: E501  # expect: JH002
