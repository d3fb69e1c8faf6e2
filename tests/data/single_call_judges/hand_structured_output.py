from typing import Literal

from langchain_core.prompts import ChatPromptTemplate
from langchain_openai import ChatOpenAI
from pydantic import BaseModel


class GradeDocument(BaseModel):
    """Relevance of a retrieved document."""

    binary_score: Literal["yes", "no"]


grade_prompt = ChatPromptTemplate.from_messages(
    [
        ("system", "You are a grader assessing relevance of a retrieved document to a user question."),
        ("human", "Retrieved document:\n\n{document}\n\nUser question: {question}"),
    ]
)
retrieval_grader = grade_prompt | ChatOpenAI(model="gpt-4o", temperature=0).with_structured_output(GradeDocument)


def filter_documents(state):
    kept = []
    for document in state["documents"]:
        score = retrieval_grader.invoke({"question": state["question"], "document": document.page_content})  # expect: JH002
        if score.binary_score == "yes":
            kept.append(document)
    return {"documents": kept}
