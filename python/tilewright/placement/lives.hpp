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

// First fit by the rules of best_first_fit, where its peak is what lives at one time: nothing is
// better. An empty layout where it is not.
Layout first_fit_at_bound(const Lives &lives);

} // namespace tilewright
