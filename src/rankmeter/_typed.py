"""What type checkers read in ``_typed.pyi``, and Python does not."""

Like = str
