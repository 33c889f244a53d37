"""Rankings larger than memory: opened in pieces, and cut into parts of whole users."""
