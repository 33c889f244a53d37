"""The conventions: what each known tool means by its metrics, and its names for them."""

from __future__ import annotations

from rankmeter.conventions._names import has_metric as has_metric
from rankmeter.conventions._names import translate_metrics as translate_metrics
from rankmeter.conventions._names import translate_name as translate_name
from rankmeter.conventions._profiles import Convention as Convention
from rankmeter.conventions._profiles import convention_names as convention_names
from rankmeter.conventions._profiles import load_convention as load_convention
from rankmeter.conventions._profiles import usage_rank as usage_rank
