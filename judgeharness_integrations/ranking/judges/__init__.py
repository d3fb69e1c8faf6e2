"""What each judge is like beside its rank: measures, facts and prices, fronts, self-preference, prompt variants."""
