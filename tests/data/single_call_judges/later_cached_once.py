import openai
from functools import lru_cache

client = openai.OpenAI()


@lru_cache
def is_spam(mail):
    r = client.chat.completions.create(  # expect: JH002
        model="gpt-4o-mini",
        messages=[{"role": "system", "content": "Judge whether the mail is spam. Answer yes or no only."}, {"role": "user", "content": mail}],
    )
    return r.choices[0].message.content.strip().lower() == "yes"


def filter_mails(mails):
    return [m for m in mails if not is_spam(m)]
