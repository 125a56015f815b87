// SPDX-License-Identifier: Apache-2.0
// Better placements of problems that are too large to be searched as a whole.
#pragma once

#include "lives.hpp"
#include "solve.hpp"

namespace tilewright
{

// Lowers the peak of a layout: takes out what ends above a target, and puts each of these units in
// again, in turn: where it has room; else between others that are pushed apart, down and up; else
// in the place of others, which are then out (ejection by weights that grow with each failure:
// Nagata and Braysy, "A powerful route minimization heuristic for the vehicle routing problem with
// time windows", 2009). Ends at the bound, or without nodes.
Answer improve_by_reinsertion(const Lives &lives, LiveFit start, const Request &request);

} // namespace tilewright
