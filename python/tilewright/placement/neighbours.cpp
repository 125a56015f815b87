// SPDX-License-Identifier: Apache-2.0
#include "neighbours.hpp"

#include <algorithm>

namespace tilewright
{
namespace
{

constexpr std::size_t kMostKept = 2'500'000;

} // namespace

Neighbours::Neighbours(const Lives &lives)
    : lives_(lives), apart_(units_apart(lives)), has_zones_(lives.begins.size(), 0),
      lists_(lives.begins.size())
{
    for (int u = 0; u < lives.problem.count(); ++u) {
        if (lives.begins[u] < lives.ends[u]) {
            by_begin_.push_back(u);
        }
        for (const Neighbour &neighbour : lives.problem.units[u].neighbours) {
            has_zones_[u] |= static_cast<char>(!shares_nothing(lives.problem, u, neighbour));
        }
    }
    std::stable_sort(by_begin_.begin(), by_begin_.end(),
                     [&](int u, int v) { return lives.begins[u] < lives.begins[v]; });
    last_end_.resize(by_begin_.size());
    measure(0, by_begin_.size());
}

std::span<const int> Neighbours::of(int unit)
{
    List &list = lists_[unit];
    if (!is_kept(unit)) {
        if (kept_.size() > kMostKept) {
            kept_.clear();
            std::fill(lists_.begin(), lists_.end(), List{});
        }
        list.begin = kept_.size();
        if (lives_.begins[unit] < lives_.ends[unit]) {
            collect(0, by_begin_.size(), unit);
        }
        for (const Neighbour &neighbour : lives_.problem.units[unit].neighbours) {
            if (shares_nothing(lives_.problem, unit, neighbour)) {
                kept_.push_back(neighbour.unit);
            }
        }
        list.count = kept_.size() - list.begin;
    }
    return {kept_.data() + list.begin, list.count};
}

// The last end of a range, whose halves are measured too.
Bytes Neighbours::measure(std::size_t low, std::size_t high)
{
    if (low == high) {
        return 0;
    }
    const std::size_t middle = low + (high - low) / 2;
    return last_end_[middle] = std::max({lives_.ends[by_begin_[middle]], measure(low, middle),
                                         measure(middle + 1, high)});
}

void Neighbours::collect(std::size_t low, std::size_t high, int unit)
{
    if (low == high) {
        return;
    }
    const std::size_t middle = low + (high - low) / 2;
    if (last_end_[middle] <= lives_.begins[unit]) {
        return;
    }
    collect(low, middle, unit);
    const int other = by_begin_[middle];
    if (lives_.begins[other] >= lives_.ends[unit]) {
        return;
    }
    if (other != unit && lives_.begins[unit] < lives_.ends[other] &&
        !std::binary_search(apart_[unit].begin(), apart_[unit].end(), other)) {
        kept_.push_back(other);
    }
    collect(middle + 1, high, unit);
}

} // namespace tilewright
