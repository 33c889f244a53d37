"""Comparisons on several data sets."""
