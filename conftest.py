"""Settings shared by the tests and by the examples of the library and its pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from missing_extras import MissingExtras, missing_extras


def pytest_configure(config: pytest.Config) -> None:
    """Leave out what needs an extra that is not installed, also in an installed library, not below this file."""
    missing = missing_extras()
    if missing:
        config.pluginmanager.register(MissingExtras(missing, root=Path(__file__).parent), "missing-extras")
