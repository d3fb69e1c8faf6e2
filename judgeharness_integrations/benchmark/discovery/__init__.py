"""Failure types and behaviours that a taxonomy lacks, found in transcripts and accepted by a person."""
