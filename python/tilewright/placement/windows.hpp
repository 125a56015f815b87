// SPDX-License-Identifier: Apache-2.0
// Better placements of problems that are too large to be searched as a whole.
#pragma once

#include "lives.hpp"
#include "solve.hpp"

namespace tilewright
{

// Lowers the peak of a layout: takes the highest unit and those that live near it in time, and
// searches new offsets for these, while units that also live outside of this window stay. Ends at
// the bound, at a window that no size improves, or without nodes.
Answer improve_in_windows(const Lives &lives, LiveFit start, const Request &request);

} // namespace tilewright
