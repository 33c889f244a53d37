"""Charts and pages: how results look."""
