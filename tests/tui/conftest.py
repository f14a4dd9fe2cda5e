"""What the tests of the viewer have in common: what it says stays until it says something else, on a busy machine."""

from __future__ import annotations

from typing import Final

import pytest

_LONG_S: Final = 3600.0


@pytest.fixture(autouse=True)
def _notices_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spanview.tui.app.app._NOTICE_DURATION_S", _LONG_S)
