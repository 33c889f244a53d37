"""Side data: what is known besides rankings and ground truth, for metrics of what was shown.

`Side` is what was given, with ids of the same types as the rankings. `SideTables` has it as arrays
over the codes of all items, and makes the evidence that a metric asks for by name.
"""
