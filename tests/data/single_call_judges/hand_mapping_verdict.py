from openai import OpenAI

client = OpenAI()
SCALE = {"excellent": 5, "good": 4, "fair": 3, "poor": 2, "bad": 1}


class Rater:
    prompt = "Rate the translation: excellent, good, fair, poor or bad. One word.\n{}"

    def rate(self, text):
        word = client.responses.create(model="gpt-4o", input=self.prompt.format(text)).output_text  # expect: JH002
        return SCALE[word.strip().lower()]

    def all(self, texts):
        ratings = [self.rate(one) for one in texts]
        return {"mean": sum(ratings) / len(ratings), "n": len(ratings)}  # expect: JH003
