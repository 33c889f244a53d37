"""Whether an experiment can answer its question: what train, test and rankings know of another."""
