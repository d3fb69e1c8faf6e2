"""The judge's share of passes is corrected by what people said."""

from openai import OpenAI

client = OpenAI()
PROMPT = "Judge whether the reply solves the ticket. Reply PASS or FAIL only.\n\n{reply}"


def judge(reply):
    out = client.responses.create(model="gpt-4o", input=PROMPT.format(reply=reply))  # expect: JH002
    return out.output_text.strip()


def precision(rows):
    verdicts = [judge(row["reply"]) for row in rows]
    human_labels = [row["annotator"] for row in rows]
    both = sum(v == "PASS" == h for v, h in zip(verdicts, human_labels))
    return both / max(1, verdicts.count("PASS"))
