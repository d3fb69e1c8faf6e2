import numpy as np
from litellm import completion

PROMPT = "Score the translation from 0 to 100. Output only the number.\nSource: {src}\nTranslation: {hyp}"


def score_once(src, hyp):
    out = completion(model="gpt-4o", messages=[{"role": "user", "content": PROMPT.format(src=src, hyp=hyp)}])
    return float(out.choices[0].message.content)


def score(src, hyp):
    samples = []
    for seed in range(4):
        samples.append(score_once(src, hyp))
    return np.mean(samples)  # expect: JH003, JH004
