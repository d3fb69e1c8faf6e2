from langchain_openai import ChatOpenAI

llm = ChatOpenAI(model="gpt-4o")


def judge(code):
    reply = llm.invoke("Review this patch as a strict judge. Answer APPROVE or REJECT only.\n" + code)  # expect: JH002
    return reply.content.strip()


def approved(code, tries=5):
    verdict = judge(code)
    while verdict != "APPROVE" and tries:
        verdict = judge(code)  # expect: JH005
        tries -= 1
    return verdict == "APPROVE"
