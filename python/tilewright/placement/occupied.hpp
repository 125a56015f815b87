// SPDX-License-Identifier: Apache-2.0
// Which bytes are taken while a unit lives.
#pragma once

#include <cstddef>
#include <vector>

#include "problem.hpp"

namespace tilewright
{

// Ranges of bytes, ascending; none touches the next.
class Ranges
{
  public:
    struct Range {
        Bytes begin, end;
    };

    // Whether any of the bytes was not in the ranges.
    bool add(Range range);

    [[nodiscard]] const std::vector<Range> &list() const
    {
        return list_;
    }

  private:
    std::vector<Range> list_;
};

// The lifetimes of units, [begin, end), as nodes of a binary tree over all ticks at which one
// begins. Node n has the halves 2n and 2n + 1; no node has more than two parts of one lifetime.
class LifeTree
{
  public:
    LifeTree(const std::vector<Bytes> &begins, const std::vector<Bytes> &ends);

    // The number of leaves. They are the nodes from here on.
    [[nodiscard]] std::size_t width() const
    {
        return width_;
    }
    // The nodes that together are the lifetime; none where the lifetime is empty.
    void nodes_of(Bytes begin, Bytes end, std::vector<std::size_t> &found) const;

  private:
    [[nodiscard]] std::size_t at(Bytes tick) const;

    std::vector<Bytes> ticks_;
    std::size_t width_ = 1;
};

// The bytes of placed units by lifetime. A hundred thousand units can have so many pairs that to go
// through them takes minutes; the bytes that units of a stretch of time take together are few
// ranges.
class Occupied
{
  public:
    Occupied(const std::vector<Bytes> &begins, const std::vector<Bytes> &ends);

    void clear();
    // The unit lies at the range from now on.
    void add(int unit, Ranges::Range range);
    // The lowest offset for the unit that neither the bytes of units that live when it does nor
    // `zones`, which are sorted and merged on the way, forbid.
    Bytes lowest(int unit, const Unit &shape, std::vector<Zone> &zones);
    // The end of the highest placed unit that lives when the unit does; 0 if there is none.
    Bytes highest(int unit);

  private:
    using Range = Ranges::Range;
    // The ranges of a list that an offset has not passed.
    struct Rest {
        const Range *next, *end;
    };

    void merge(Bytes size, std::vector<Zone> &zones);
    void collect(const std::vector<Range> &list);
    Bytes lowest_beside(const Unit &shape);

    const std::vector<Bytes> &begins_, &ends_;
    LifeTree tree_;
    std::vector<Ranges> here_;   // for each node, of units of whose lifetime it is a part
    std::vector<Ranges> within_; // the same, with those of all nodes below
    std::vector<std::size_t> nodes_;
    std::vector<std::uint64_t> seen_; // for each node the last turn that collected its list
    std::uint64_t turn_ = 0;
    std::vector<Range> zones_;
    std::vector<Rest> rests_;
};

} // namespace tilewright
