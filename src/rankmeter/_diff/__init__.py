"""Two rankings next to each other, without ground truth."""
