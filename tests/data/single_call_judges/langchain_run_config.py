from langchain.smith import RunEvalConfig, run_on_dataset  # expect: JH010
from langsmith import Client

config = RunEvalConfig(  # expect: JH002
    evaluators=["qa", RunEvalConfig.Criteria("helpfulness")],
)


def run(chain):
    return run_on_dataset(client=Client(), dataset_name="faq", llm_or_chain_factory=lambda: chain, evaluation=config)
