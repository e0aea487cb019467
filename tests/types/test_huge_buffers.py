"""A buffer that claims more than a value may have is refused before it is copied."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from colonnade.errors import EncodeError

if TYPE_CHECKING:
    from colonnade.sync import Connection


def test_a_buffer_larger_than_memory(link: Connection) -> None:
    huge = np.broadcast_to(np.uint8(3), (2**40,))
    with pytest.raises(EncodeError, match="1099511627776 bytes"):
        link.fetchval("SELECT $1::bytea", huge)
    assert link.fetchval("SELECT 1") == 1
