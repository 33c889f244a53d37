"""Ways of cutting users into blocks. A backend finds hits; the formulas exist once."""

from __future__ import annotations
