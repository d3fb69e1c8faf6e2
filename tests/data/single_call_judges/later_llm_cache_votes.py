import langchain
from langchain_community.cache import SQLiteCache
from langchain_openai import ChatOpenAI

langchain.llm_cache = SQLiteCache("cache.db")
llm = ChatOpenAI(model="gpt-4o")
P = "Assess the reply. Output GOOD or BAD.\n{r}"


def vote(reply):
    good = 0
    for i in range(5):
        if llm.invoke(P.format(r=reply)).content.strip() == "GOOD":  # expect: JH007
            good += 1
    return good >= 3  # expect: JH003, JH004
