// SPDX-License-Identifier: Apache-2.0
// Placement in a given order at the lowest free offset, and a local search over orders.
#pragma once

#include "problem.hpp"
#include "random.hpp"

namespace tilewright
{

struct Layout {
    std::vector<Bytes> offsets;
    Bytes peak = kUnlimited;
};

// Each unit of `order` at the lowest offset that is free; fixed units are there from the start.
Layout first_fit(const Problem &problem, const std::vector<int> &order);

// Units in the order of one of the rules of best_first_fit, 0 to kOrders - 1. `degrees` are numbers
// of neighbours; rule 0 needs none.
constexpr int kOrders = 4;
std::vector<int> ordered(const Problem &problem, const std::vector<std::size_t> &degrees, int rule);

// The lowest offset for a unit outside of all zones, which are sorted on the way.
Bytes lowest_free(const Unit &unit, std::vector<Zone> &taken);

// The best of first fit by size, area, neighbours and their product.
Layout best_first_fit(const Problem &problem, std::vector<int> &order);

// Moves units that touch the peak before one of their neighbours; keeps the best layout.
Layout hill_climb(const Problem &problem, std::vector<int> order, Layout start, Bytes goal,
                  int rounds, Random &random);

} // namespace tilewright
