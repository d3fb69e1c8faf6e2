from transformers import pipeline

pipe = pipeline("text-generation", model="meta-llama/Llama-3.1-8B-Instruct")


def summarise(text):
    return pipe(f"Summarise: {text}")[0]["generated_text"]
