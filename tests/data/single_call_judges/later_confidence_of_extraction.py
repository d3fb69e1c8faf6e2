"""Structured extraction with a confidence score; nobody is judged."""
from langchain_openai import ChatOpenAI
from pydantic import BaseModel


class Entity(BaseModel):
    name: str
    confidence: float


def entities(text):
    llm = ChatOpenAI(model="gpt-4o-mini").with_structured_output(Entity)
    found = llm.invoke("Find the company this press release is about: " + text)
    return found.name if found.confidence > 0.5 else None
