"""How the value of one user is computed, step by step."""
