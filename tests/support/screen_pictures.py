"""Pictures of a page: the place of a section on it, and what tells a picture from a blank one."""

from __future__ import annotations

from io import BytesIO

import numpy as np
from PIL import Image

from support.browser import Browser


def area(browser: Browser, section: str) -> dict[str, float]:
    """The section's rectangle in CSS pixels, counted from the top of the page."""
    box = browser.run(
        f"(({{x, y, width, height}}) => ({{x, y: y + scrollY, width, height}}))"
        f"(document.querySelector('{section}').getBoundingClientRect())"
    )
    assert isinstance(box, dict)
    return box


def brightness(picture: bytes) -> float:
    """The mean grey of a picture, from 0 (black) to 255 (white)."""
    return float(np.asarray(Image.open(BytesIO(picture)).convert("L")).mean())


def colours(picture: bytes) -> int:
    """The number of different colours in a picture."""
    return len(np.unique(np.asarray(Image.open(BytesIO(picture)).convert("RGB")).reshape(-1, 3), axis=0))
