"""What the documentation generates from the library, as extensions of Sphinx.

``pages`` writes whole pages: metrics, conventions, reference. ``generated`` puts tables into pages
that people write. ``mathml``, ``names`` and ``korean`` are about how things are set.
"""
