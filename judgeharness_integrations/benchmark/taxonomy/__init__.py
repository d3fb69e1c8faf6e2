"""What can go wrong in a conversation and how users behave: data files that users extend."""
