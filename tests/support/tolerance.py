"""How far float32 results may lie from a reference, from how they are computed instead of by a round number."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

EPSILON = 2.0**-23
"""Distance from 1 to the next float32."""


def assert_sums_close(got: npt.ArrayLike, want: npt.ArrayLike, terms: int) -> None:
    """Both are sums of ``terms`` products each, in any order.

    A sum of n float32 terms is off by at most n * 2^-24 times the sum of their magnitudes (Higham, Accuracy and
    Stability of Numerical Algorithms, section 4.2). The largest result of a tensor stands for that sum here, and
    both sides may be off: n * 2^-23 of it.
    """
    wanted = np.asarray(want)
    largest = float(np.abs(wanted[np.isfinite(wanted)]).max(initial=0.0))
    np.testing.assert_allclose(got, want, rtol=2 * EPSILON, atol=max(terms, 4) * EPSILON * largest)
