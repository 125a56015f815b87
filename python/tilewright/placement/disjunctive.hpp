// SPDX-License-Identifier: Apache-2.0
// Complete search for offsets below a capacity for any zones: views, trails, obstacles.
//
// A pair of neighbours leaves gaps between its zones, each a lower and an upper bound of the
// difference of the two offsets. Bounds of all offsets are propagated through the gaps that were
// decided; the lower bounds are the least solution of these. If they break no zone they are a
// placement, otherwise the search branches upon the gaps of a pair that they break.
#pragma once

#include "cliques.hpp"
#include "problem.hpp"
#include "random.hpp"
#include "verdict.hpp"

namespace tilewright
{

class DisjunctiveSearch
{
  public:
    DisjunctiveSearch(const Problem &problem, const CliqueCover &cover);

    // One descent with at most `budget` nodes; `noise` in [0, 1] mixes the order of branches.
    Verdict run(Bytes capacity, double noise, std::int64_t budget, Random &random);

    [[nodiscard]] const std::vector<Bytes> &offsets() const
    {
        return low_;
    }
    [[nodiscard]] std::int64_t nodes() const
    {
        return nodes_;
    }

  private:
    struct Arc {
        int to;
        Bytes distance; // offset(to) >= offset(from) + distance
    };
    struct Change {
        int unit;
        bool upper;
        Bytes old;
    };
    struct Pair {
        int u, v;
        const Zones *zones; // of offset(u) - offset(v)
        double failures = 1.0;
    };

    bool raise(int unit, Bytes offset);
    bool lower(int unit, Bytes offset);
    bool propagate();
    bool cliques_fit() const;
    bool decide(const Pair &pair, std::size_t gap);
    void undo(std::size_t changes, std::size_t arcs);
    [[nodiscard]] bool broken(const Pair &pair) const;
    [[nodiscard]] double cost(const Pair &pair, std::size_t gap) const;
    [[nodiscard]] int choose() const;
    Verdict solve(int depth);

    const Problem &problem_;
    const CliqueCover &cover_;
    Random *random_ = nullptr;
    double noise_ = 0.0;
    std::int64_t nodes_ = 0, budget_ = 0;
    std::vector<Pair> pairs_;
    std::vector<Bytes> low_, high_;
    std::vector<std::vector<Arc>> out_, in_;
    std::vector<std::pair<int, int>> arc_log_;
    std::vector<Change> log_;
    std::vector<int> queue_;
    std::vector<char> queued_;
};

} // namespace tilewright
