"""Results in files, which are read and never executed."""
