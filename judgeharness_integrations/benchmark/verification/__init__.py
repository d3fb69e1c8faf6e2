"""The verification cascade: form, coherence, adherence, grounding."""
