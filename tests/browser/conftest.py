"""One Chromium for all tests of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.browser import Browser, chromium


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("chromium") / "profile") as started:
        yield started
