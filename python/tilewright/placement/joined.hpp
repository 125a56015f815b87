// SPDX-License-Identifier: Apache-2.0
// Units that are placed as one: a smaller problem, each layout of which is one of the whole.
#pragma once

#include <vector>

#include "lives.hpp"

namespace tilewright
{

struct Joined {
    Lives lives;
    std::vector<int> whole;   // the unit of `lives` that has each unit of the problem
    std::vector<Bytes> shift; // where in its bytes the unit begins

    // Offsets of the problem's units from those of `lives`.
    [[nodiscard]] std::vector<Bytes> apart(const std::vector<Bytes> &offsets) const;
};

// Joins units of one size of which one begins when another ends, as long as there are any; then the
// units of the shortest lifetime that several have, which are stacked; and so on. A rectangle of
// bytes and ticks that was cut from side to side again and again becomes one unit again. Units that
// are fixed or have listed pairs stay by themselves, and all units keep their alignment.
Joined join_units(const Lives &lives);

} // namespace tilewright
