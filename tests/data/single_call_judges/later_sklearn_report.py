import numpy as np
from sklearn.linear_model import LogisticRegression


def evaluate(x, y):
    model = LogisticRegression().fit(x, y)
    predictions = model.predict(x)
    score = float(np.mean(predictions == y))
    grade = "PASS" if score > 0.9 else "FAIL"
    return grade, f"[[{grade}]] with score {score}"
