"""SQLAlchemy's plugin, which runs its suite in a separate process, because it takes over pytest."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("sqlalchemy.testing.assertions")

from sqlalchemy.testing.plugin.pytestplugin import *  # noqa: E402, F403 - the plugin is its names
