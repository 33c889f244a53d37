"""Settings shared by all tests."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "house", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=60
)
settings.register_profile("thorough", settings.get_profile("house"), max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "house"))


@pytest.fixture
def unprivileged(tmp_path):
    """Be somebody who is not root in the test: root reads and writes everything."""
    if os.geteuid() != 0:
        yield
        return
    top = Path(tempfile.gettempdir())
    for folder in (tmp_path, *tmp_path.parents):
        if folder.is_relative_to(top) and folder != top:
            folder.chmod(0o755)
    os.seteuid(65534)
    yield
    os.seteuid(0)
