"""Evaluate batch by batch, in training loops of any library."""
