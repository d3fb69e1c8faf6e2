import anthropic

client = anthropic.Anthropic()


def is_polite(text):
    message = client.messages.create(  # expect: JH002
        model="claude-sonnet-4-5",
        max_tokens=5,
        system="You judge whether a support mail is polite. Answer yes or no.",
        messages=[{"role": "user", "content": text}],
    )
    return message.content[0].text.lower().startswith("yes")  # expect: JH006
