from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import PromptTemplate


class ToneJudge:
    template = "Decide whether the tone of the mail is professional. Say PROFESSIONAL or UNPROFESSIONAL.\n\nMail: {mail}\n\nVerdict:"

    def __init__(self, llm):
        self.chain = PromptTemplate.from_template(self.template) | llm | StrOutputParser()

    async def __call__(self, mail):
        text = await self.chain.ainvoke({"mail": mail})  # expect: JH002
        if "UNPROFESSIONAL" in text:  # expect: JH006
            return 0
        return 1
