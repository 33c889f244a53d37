"""How far a result can be believed where judgments are missing."""
