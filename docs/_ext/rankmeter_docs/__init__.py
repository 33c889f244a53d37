"""Sphinx extensions that generate documentation from the library.

``pages`` writes whole pages: metrics, conventions, reference. ``generated`` puts tables into pages
that people write. ``mathml``, ``names`` and ``korean`` are about how things are set.
"""
