"""Blueprints and conversations of a pair, written by a model under drawn conditions."""
