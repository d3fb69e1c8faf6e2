import json
import boto3

bedrock = boto3.client("bedrock-runtime")
RUBRIC = "You will grade a customer service transcript. Output a JSON object with fields empathy and resolution, each 1-5."


def grade(transcript):
    response = bedrock.converse(  # expect: JH002
        modelId="anthropic.claude-3-5-sonnet",
        system=[{"text": RUBRIC}],
        messages=[{"role": "user", "content": [{"text": transcript}]}],
    )
    scores = json.loads(response["output"]["message"]["content"][0]["text"])
    return scores["empathy"], scores["resolution"]
