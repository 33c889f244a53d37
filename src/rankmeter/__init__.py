"""rankmeter measures rankings."""
