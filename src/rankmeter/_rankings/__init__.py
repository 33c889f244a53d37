"""From tables to hits: pairs of user and item → counts → ranks → hits."""
