"""Why two numbers differ, and which settings give a number."""
