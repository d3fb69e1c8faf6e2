"""`load_evaluator` of a project of its own, which reads a checkpoint."""

import torch


def load_evaluator(kind, llm=None):
    return torch.load(f"checkpoints/{kind}.pt")


reward = load_evaluator("pairwise_string", llm="tiny")


def compare(a, b):
    return reward(a) > reward(b)
