"""HTTP calls and metrics without a model."""

import requests


def evaluate(url, payload):
    response = requests.post(url, json=payload, timeout=10)
    score = float(response.json()["score"])
    return score


def create(session, name):
    return session.create(name=name, grade="A")
