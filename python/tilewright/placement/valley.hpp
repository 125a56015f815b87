// SPDX-License-Identifier: Apache-2.0
// Complete search for offsets below a capacity, from the bottom up.
//
// Every solution can be compacted: each unit then stands on 0, on an obstacle or on a neighbour.
// The state is the set of units that are not placed and a lower bound of each one's offset. The
// floor of a clique is the lowest of its bounds. A clique is a valley if no neighbour of the units
// that stand on its floor can begin below it: then exactly one of these units begins there, or
// none does and all of them rise to the next possible support. So every compacted solution is
// met once. Sound for positive separations only (see `is_layered`).
//
// Pruning: the sizes in a clique add up above its floor. Valleys with one option are taken first.
// Where no unit spans two parts of the clique tree any more, these are solved one by one.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cliques.hpp"
#include "problem.hpp"
#include "random.hpp"
#include "verdict.hpp"

namespace tilewright
{

enum class Selector { kFewest, kFailures, kLowest };
enum class ValueOrder { kSize, kArea, kLength, kSizeAscending, kFit };

constexpr std::size_t kSelectors = 3;
constexpr std::size_t kValueOrders = 5;

struct Strategy {
    Selector selector = Selector::kFewest;
    ValueOrder order = ValueOrder::kSize;
    double noise = 0.0;
};

// Whether each pair of neighbours has one zone, with 0 inside: each must begin above the other.
bool is_layered(const Problem &problem);

class ValleySearch
{
  public:
    ValleySearch(const Problem &problem, const CliqueCover &cover);

    // One descent with at most `budget` nodes. kDoesNotFit is a proof.
    Verdict run(Bytes capacity, const Strategy &strategy, std::int64_t budget, Random &random);

    [[nodiscard]] const std::vector<Bytes> &offsets() const
    {
        return offset_;
    }
    [[nodiscard]] std::int64_t nodes() const
    {
        return nodes_;
    }

  private:
    struct Change {
        int index;
        Bytes old;
    };
    struct FloorChange {
        int clique;
        int options;
        Bytes floor;
    };
    struct Mark {
        std::size_t bounds, floors, placed;
    };
    struct Edge {
        int unit;
        Bytes above; // the neighbour begins at least this far above this unit if it is above it,
        Bytes below; // and this unit at least this far above the neighbour otherwise
    };
    struct Span {
        int begin, end; // moments, half-open
    };
    struct Obstacle {
        Bytes low, high; // open interval of offsets
    };

    void prepare_units(const CliqueCover &cover);
    void prepare_classes();
    void prepare_moments(const CliqueCover &cover);
    bool reset();
    Verdict solve(std::size_t begin, std::size_t end, bool cut);
    Verdict branch(std::size_t begin, std::size_t end);
    [[nodiscard]] int choose(std::size_t begin, std::size_t end) const;
    [[nodiscard]] double score_of(int clique) const;
    [[nodiscard]] int fits_beside(int unit) const;
    [[nodiscard]] bool is_valley(int clique) const;
    [[nodiscard]] bool is_level(Bytes floor, int unit) const;
    [[nodiscard]] bool is_level(Bytes floor, Span span, Span &seen) const;
    [[nodiscard]] bool is_first_twin(int unit) const
    {
        return twin_[unit] < 0 || placed_[twin_[unit]];
    }
    void add_clique(const std::vector<int> &units, bool bounding);
    void prepare_tree(const CliqueCover &cover);
    void set_priorities(Random &random);
    void touch(int clique)
    {
        if (!dirty_[clique]) {
            dirty_[clique] = 1;
            dirty_list_.push_back(clique);
            floor_log_.push_back({clique, options_[clique], floor_[clique]});
        }
    }
    bool raise_all(std::size_t first, std::size_t last);
    [[nodiscard]] Bytes next_offset(int unit, Bytes from) const;
    [[nodiscard]] Bytes next_support(int unit) const;
    bool raise(int unit, Bytes offset);
    bool place(int unit);
    bool settle(Span counted = {0, 0}, Bytes lowest = 0);
    bool settle_beside(int unit);
    void find_floor(int clique);
    [[nodiscard]] bool overflows(int clique, Bytes floor) const;
    [[nodiscard]] Mark mark() const
    {
        return {bound_log_.size(), floor_log_.size(), placed_log_.size()};
    }
    void undo(const Mark &mark);
    [[nodiscard]] std::vector<std::size_t> split(std::size_t begin, std::size_t end);

    const Problem &problem_;
    Bytes grain_;              // of all offsets
    std::vector<Bytes> whole_; // unit -> size up to the next multiple of the grain
    Bytes capacity_ = 0;
    Strategy strategy_;
    std::int64_t nodes_ = 0, budget_ = 0;

    struct Member {
        int unit;
        int slot; // its entry in seats_of_
    };
    struct Seat {
        int clique;
        int position; // in the clique's members
    };
    std::vector<std::vector<Member>>
        members_; // clique -> free units; the first remaining_ are not placed
    std::vector<std::vector<Seat>> seats_of_;  // unit -> where it is a member
    std::vector<std::vector<int>> cliques_of_; // unit -> cliques
    std::vector<std::vector<Edge>> edges_;     // unit -> free neighbours
    std::vector<std::vector<Obstacle>> obstacles_;
    std::vector<std::vector<Obstacle>> fixed_in_; // clique -> bytes of fixed units
    std::vector<char> bounding_;                  // clique -> sizes add up
    std::vector<int> twin_;                       // unit -> previous unit of the same kind, or -1
    std::vector<std::vector<std::pair<int, int>>> links_of_; // clique -> (clique, link)
    std::vector<std::vector<int>> unit_links_;               // unit -> links that it spans
    bool has_tree_ = false;
    // Cliques as moments, numbered in time; `in_time_` if those of each unit follow each other.
    bool in_time_ = false;
    std::vector<int> moment_, clique_at_; // clique -> moment, moment -> clique
    std::vector<Span> spans_;             // unit -> moments
    std::vector<int> standing_;           // moment -> units on its floor, while that is settled

    std::vector<Bytes> bound_, offset_, floor_, total_;
    std::vector<int> remaining_, spanned_;
    std::vector<char> placed_, dirty_;
    std::vector<double> failures_, score_; // clique -> as named
    std::vector<double> priority_, urgency_; // unit -> as named
    std::vector<Change> bound_log_;
    std::vector<FloorChange> floor_log_;
    std::vector<int> placed_log_, dirty_list_;
    std::vector<int> active_; // stack of clique lists, one range per level
    std::vector<Bytes> rises_;
    std::vector<int>
        options_; // clique -> units that could be placed on its floor; < 1: to be counted
    std::vector<int> choices_; // stack: units of the branches, one range per level
    std::vector<int> stamp_;   // clique -> last split that met it, to tell which are active
    std::vector<int> part_;
    int last_stamp_ = 0;
    std::size_t depth_ = 0;
    std::array<std::vector<double>, kSelectors * kValueOrders + 1>
        learned_; // strategy -> failures_ of its last run
    std::size_t learned_index_ = kSelectors * kValueOrders;
    bool cut_ = false;    // the last placement ended the span of a link
    bool emptied_ = true; // the last placement took the last unit of a clique
};

} // namespace tilewright
