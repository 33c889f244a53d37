"""The public functions: evaluate, compare, curve, explain, of tables, scores, ranks and batches."""
