// SPDX-License-Identifier: Apache-2.0
// The units that share no byte with a given one, found when they are asked for.
#pragma once

#include <cstddef>
#include <vector>

#include "lives.hpp"

namespace tilewright
{

// The pairs of a problem of 100,000 units can be more than memory holds; a search asks for those of
// a few units again and again. Lists are kept until they are kMostKept entries together.
class Neighbours
{
  public:
    explicit Neighbours(const Lives &lives);

    // Units whose bytes are disjoint from those of `unit`, because of lifetimes or as listed.
    // Valid until the next call.
    const std::vector<int> &of(int unit);

    // Whether the list of the unit need not be made.
    [[nodiscard]] bool is_kept(int unit) const
    {
        return is_kept_[static_cast<std::size_t>(unit)] != 0;
    }

    // Whether a listed pair of the unit allows some of its bytes to be shared.
    [[nodiscard]] bool has_zones(int unit) const
    {
        return has_zones_[static_cast<std::size_t>(unit)] != 0;
    }

  private:
    void collect(std::size_t low, std::size_t high, int unit, std::vector<int> &found) const;
    Bytes measure(std::size_t low, std::size_t high);

    const Lives &lives_;
    std::vector<std::vector<int>> apart_;
    std::vector<char> has_zones_;
    std::vector<int> by_begin_;
    std::vector<Bytes> last_end_; // of the half-open range of by_begin_ whose middle is the index
    std::vector<std::vector<int>> lists_;
    std::vector<char> is_kept_;
    std::size_t kept_ = 0;
};

} // namespace tilewright
