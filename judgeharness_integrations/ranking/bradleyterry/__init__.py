"""Bradley-Terry between judges and pairs: joint and conditional maximum likelihood, clustered errors, diagnostics."""
