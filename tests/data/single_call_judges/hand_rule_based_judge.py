"""A judge without a model."""

import re

WORDS = re.compile(r"\b(sorry|thanks|please)\b")


def judge(text):
    verdict = "PASS" if WORDS.search(text) else "FAIL"
    return verdict


def pass_rate(texts):
    verdicts = [judge(text) for text in texts]
    return verdicts.count("PASS") / len(verdicts)
