from langchain_classic.evaluation import TrajectoryEvalChain
from langchain_openai import ChatOpenAI

from app.agent import agent

chain = TrajectoryEvalChain.from_llm(llm=ChatOpenAI(model="gpt-4o"), agent_tools=agent.tools)  # expect: JH002


def judge_run(question):
    result = agent({"input": question})
    graded = chain.evaluate_agent_trajectory(
        input=result["input"], prediction=result["output"], agent_trajectory=result["intermediate_steps"]
    )
    return graded["score"]
