// SPDX-License-Identifier: Apache-2.0
// Sets of units that pairwise share no byte: their sizes add up.
#pragma once

#include "problem.hpp"

namespace tilewright
{

struct CliqueCover {
    std::vector<std::vector<int>> cliques; // members ascending; together they hold every pair
    std::vector<std::pair<int, int>> tree; // clique tree: each unit's cliques are connected in it
    bool chordal = false; // the cliques are exactly the maximal ones; tree is valid
};

// Maximum cardinality search (Tarjan and Yannakakis 1984); a greedy cover if the graph is not
// chordal.
CliqueCover cover_by_cliques(const Problem &problem);

// Most bytes that are alive at one time, at least; alignment and fixed offsets considered.
Bytes lower_bound(const Problem &problem, const CliqueCover &cover);

} // namespace tilewright
