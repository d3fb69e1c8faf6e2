from app import reply_to
from tests.llm import ask


def judged_by_model(text):
    """The helper that asks lives in another file."""
    return ask("Is this polite? yes or no: " + text)


def test_polite():
    assert judged_by_model(reply_to("Where is my parcel?")) == "yes"
