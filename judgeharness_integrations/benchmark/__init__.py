"""A multi-turn benchmark for judges from your own documents: made, verified, judged, ranked, curated, audited."""
