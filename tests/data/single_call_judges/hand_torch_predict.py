import joblib
import numpy as np

model = joblib.load("reward.joblib")


def judge(features):
    score = float(model.predict(np.array([features]))[0])
    return "PASS" if score > 0.5 else "FAIL"


def best(candidates):
    scores = [judge(one) for one in candidates]
    return np.mean([s == "PASS" for s in scores])
