"""Files of all formats: what a path can name, and how each format is read."""
