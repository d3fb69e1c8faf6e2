from langchain_classic.chains import LLMChain
from langchain_classic.prompts import PromptTemplate
from langchain_openai import ChatOpenAI

chain = LLMChain(
    llm=ChatOpenAI(model="gpt-4"),
    prompt=PromptTemplate.from_template("Grade the answer {answer} to {question}. GRADE: CORRECT or INCORRECT"),
)


def grade(examples):
    out = []
    for e in examples:
        text = chain.run(question=e["q"], answer=e["a"])  # expect: JH002
        out.append(text.split("GRADE:")[-1].strip() == "CORRECT")
    return sum(out) / len(out)  # expect: JH003
