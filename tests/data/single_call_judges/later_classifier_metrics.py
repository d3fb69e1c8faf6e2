def evaluate_model(model, loader):
    correct = 0
    for x, y in loader:
        pred = model.predict(x)
        correct += (pred == y).sum()
    return correct / len(loader.dataset)


class ScoreCard:
    rubric = "Grade A for better than 90, PASS or FAIL otherwise"

    def grade(self, score):
        return "PASS" if score > 50 else "FAIL"
