"""Matrices of scores, samples and ranks, of any library and device, as counts and as rankings."""
