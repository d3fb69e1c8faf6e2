"""The alternative annotator test: may a judge stand in for human annotators?"""
