"""Compares two experiments with the LangSmith of the tests, which runs on this machine, and keeps the comparisons."""

from langsmith import evaluate
from older_judges import longer
from support.langsmith_server import LangSmithServer

from judgeharness_langsmith import harness_comparative

with LangSmithServer() as server:
    client = server.client()
    dataset = client.create_dataset("cities")
    cities = ["Paris", "Lima", "Oslo"]
    client.create_examples(dataset_id=dataset.id, examples=[{"inputs": {"city": city}} for city in cities])
    experiments = [
        evaluate(app, data="cities", client=client).experiment_name
        for app in (lambda inputs: {"answer": inputs["city"]}, lambda inputs: {"answer": f"That is {inputs['city']}."})
    ]
    client.flush()
    list(evaluate(experiments, evaluators=[harness_comparative(longer, out="comparisons.jsonl")], client=client))
