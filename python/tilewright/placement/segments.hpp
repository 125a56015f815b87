// SPDX-License-Identifier: Apache-2.0
// Placements of long problems, cut where little is alive.
#pragma once

#include "lives.hpp"
#include "solve.hpp"

namespace tilewright
{

// Lowers the peak of a layout whose units conflict by their lifetimes alone; other problems keep
// their layout. Time is cut into segments of some hundred units, at ticks at which few bytes are
// alive, now and shortly before and after. Segments are searched one by one below a target, the
// fullest first: units that an earlier one has placed are fixed in the next. A segment that is not
// solved comes before its neighbours, which are solved anew ("Squeaky wheel" optimization, Joslin
// and Clements, JAIR 10, 1999). Ends at the bound, or without nodes.
Answer improve_by_segments(const Lives &lives, LiveFit start, const Request &request);

} // namespace tilewright
