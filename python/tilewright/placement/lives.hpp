// SPDX-License-Identifier: Apache-2.0
// Conflicts that follow from lifetimes: two units that live at one time share no byte.
#pragma once

#include "local.hpp"

namespace tilewright
{

// Units of one pool with their lifetimes, [begin, end) in ticks; a unit without a lifetime has
// begin = end. `problem` has the neighbours that are listed as pairs. A pair in `listed` or
// `free` (both u < v, ascending) does not follow from lifetimes.
struct Lives {
    Problem problem;
    std::vector<Bytes> begins, ends;
    std::vector<std::pair<int, int>> pairs, free;
};

// For each unit the units, ascending, of which `pairs` or `free` says whether they conflict.
std::vector<std::vector<int>> units_apart(const Lives &lives);

// The same problem with all its pairs listed.
Problem with_pairs(const Lives &lives);

// The best of first fit by the rules of best_first_fit; the search ends where a layout is no higher
// than what lives at one time, because nothing is better.
struct LiveFit {
    Layout layout;
    Bytes bound = 0;       // most bytes that live at one time
    std::size_t pairs = 0; // conflicts that follow from lifetimes or are listed
};
LiveFit first_fit_by_lives(const Lives &lives);

// Where a unit goes: to the lowest offset that is free, or above all neighbours that are placed.
enum class Where { kLowest, kAbove };

// Each unit of `order` in turn; none is fixed.
Layout placed_in_order(const Lives &lives, const std::vector<int> &order, Where where);

} // namespace tilewright
