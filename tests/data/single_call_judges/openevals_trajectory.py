from openevals.trajectory import create_trajectory_llm_as_judge, create_trajectory_match_evaluator

strict = create_trajectory_match_evaluator(trajectory_match_mode="strict")
judged = create_trajectory_llm_as_judge(model="openai:gpt-4o")  # expect: JH002


def evaluate(trajectory, reference):
    return [
        strict(outputs=trajectory, reference_outputs=reference),
        judged(outputs=trajectory, reference_outputs=reference),
    ]
