from langchain_openai import ChatOpenAI

from judgeharness_langchain import PairwiseJudge, load_evaluator

judge = PairwiseJudge(ChatOpenAI(model="gpt-4o"))
graded = load_evaluator("criteria", llm=ChatOpenAI(model="gpt-4o"), criteria="conciseness")
