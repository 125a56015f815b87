// SPDX-License-Identifier: Apache-2.0
// The units that share no byte with a given one, found when they are asked for.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "lives.hpp"

namespace tilewright
{

// The pairs of a problem of 100,000 units can be more than memory holds; a search asks for those of
// a few units again and again. Lists are kept, in one array, until they are kMostKept entries
// together.
class Neighbours
{
  public:
    explicit Neighbours(const Lives &lives);

    // Units whose bytes are disjoint from those of `unit`, because of lifetimes or as listed.
    // Valid until the next call.
    std::span<const int> of(int unit);

    // Whether the list of the unit need not be made.
    [[nodiscard]] bool is_kept(int unit) const
    {
        return lists_[static_cast<std::size_t>(unit)].begin != kNone;
    }

    // Whether a listed pair of the unit allows some of its bytes to be shared.
    [[nodiscard]] bool has_zones(int unit) const
    {
        return has_zones_[static_cast<std::size_t>(unit)] != 0;
    }

  private:
    static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
    // Where the list of a unit lies in kept_.
    struct List {
        std::size_t begin = kNone, count = 0;
    };

    void collect(std::size_t low, std::size_t high, int unit);
    Bytes measure(std::size_t low, std::size_t high);

    const Lives &lives_;
    std::vector<std::vector<int>> apart_;
    std::vector<char> has_zones_;
    std::vector<int> by_begin_;
    std::vector<Bytes> last_end_; // of the half-open range of by_begin_ whose middle is the index
    std::vector<List> lists_;
    std::vector<int> kept_;
};

} // namespace tilewright
