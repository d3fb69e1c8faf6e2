from langchain_openai import ChatOpenAI
from pydantic import BaseModel


class Invoice(BaseModel):
    number: str
    total: float


def extract(text):
    llm = ChatOpenAI(model="gpt-4o").with_structured_output(Invoice)
    invoice = llm.invoke(f"Extract the invoice number and the total from this text:\n{text}")
    return invoice.number, float(invoice.total)
