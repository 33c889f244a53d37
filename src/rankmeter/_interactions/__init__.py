"""Interactions: describing them, splitting them, recommending from them."""
