"""What metrics get: hits, lists, and a way to note how a number is computed."""
