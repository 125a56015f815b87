// SPDX-License-Identifier: Apache-2.0
// The tree of the valley search: which valley, which branch first, and independent parts.
#include <algorithm>
#include <limits>

#include "valley.hpp"

namespace tilewright
{
namespace
{

// A descent is as deep as there are units and rises; deeper ones are given up, so that the stack
// holds.
constexpr std::size_t kDeepest = 20000;
constexpr double kFitWeight = 4.0;

} // namespace

Verdict ValleySearch::run(Bytes capacity, const Strategy &strategy, std::int64_t budget,
                          Random &random)
{
    capacity_ = capacity;
    strategy_ = strategy;
    nodes_ = 0;
    depth_ = 0;
    choices_.clear();
    budget_ = budget;
    // Failures that one strategy met are of no use to another strategy.
    learned_[learned_index_].swap(failures_);
    learned_index_ = kValueOrders * static_cast<std::size_t>(strategy.selector) +
                     static_cast<std::size_t>(strategy.order);
    learned_[learned_index_].swap(failures_);
    if (failures_.empty()) {
        failures_.assign(members_.size(), 1.0);
    }
    for (double &failures : failures_) {
        failures = 1.0 + (failures - 1.0) * 0.5;
    }
    set_priorities(random);
    if (!reset()) {
        return Verdict::kDoesNotFit;
    }
    return solve(0, active_.size(), true);
}

void ValleySearch::set_priorities(Random &random)
{
    for (int u = 0; u < problem_.count(); ++u) {
        const double size = static_cast<double>(problem_.units[u].size);
        const double length = static_cast<double>(cliques_of_[u].size());
        double value = size;
        switch (strategy_.order) {
        case ValueOrder::kSize:
            break;
        case ValueOrder::kArea:
            value = size * length;
            break;
        case ValueOrder::kLength:
            value = length + size * 1e-12;
            break;
        case ValueOrder::kFit:
            break;
        case ValueOrder::kSizeAscending:
            value = 1.0 / (size + 1.0);
            break;
        }
        priority_[u] =
            strategy_.noise > 0.0 ? value * (1.0 + strategy_.noise * random.unit()) : value;
    }
}

// Cliques of [begin, end) that still have units; the parts of the rest do not touch each other.
Verdict ValleySearch::solve(std::size_t begin, std::size_t end, bool cut)
{
    const bool splits = has_tree_ && cut;
    if (!emptied_ && !splits && begin < end && depth_ <= kDeepest) {
        // All of them have units, and stay in this order.
        ++depth_;
        const Verdict verdict = branch(begin, end);
        --depth_;
        return verdict;
    }
    const std::size_t top = active_.size();
    for (std::size_t i = begin; i < end; ++i) {
        if (remaining_[active_[i]] > 0) {
            active_.push_back(active_[i]);
        }
    }
    if (active_.size() == top) {
        return Verdict::kFits;
    }
    if (depth_ > kDeepest) {
        active_.resize(top);
        return Verdict::kBudget;
    }
    ++depth_;
    Verdict verdict = Verdict::kFits;
    const std::vector<std::size_t> parts =
        splits ? split(top, active_.size()) : std::vector<std::size_t>{};
    if (parts.size() < 2) {
        verdict = branch(top, active_.size());
    } else {
        const Mark before = mark();
        std::size_t first = top;
        for (std::size_t last : parts) {
            verdict = branch(first, last);
            if (verdict != Verdict::kFits) {
                undo(before);
                break;
            }
            first = last;
        }
    }
    --depth_;
    active_.resize(top);
    return verdict;
}

// Reorders the range so that parts lie one behind the other; returns the ends of the parts.
std::vector<std::size_t> ValleySearch::split(std::size_t begin, std::size_t end)
{
    const int stamp = ++last_stamp_;
    for (std::size_t i = begin; i < end; ++i) {
        stamp_[active_[i]] = stamp;
    }
    part_.assign(active_.begin() + static_cast<std::ptrdiff_t>(begin),
                 active_.begin() + static_cast<std::ptrdiff_t>(end));
    std::vector<std::size_t> ends;
    std::size_t filled = begin;
    for (int root : part_) {
        if (stamp_[root] != stamp) {
            continue;
        }
        stamp_[root] = 0;
        std::size_t next = filled;
        active_[filled++] = root;
        while (next < filled) {
            const int s = active_[next++];
            for (const auto &[other, link] : links_of_[s]) {
                if (spanned_[link] > 0 && stamp_[other] == stamp) {
                    stamp_[other] = 0;
                    active_[filled++] = other;
                }
            }
        }
        ends.push_back(filled);
    }
    return ends;
}

// What `choose` compares: less is better. It follows the clique's floor, options, bytes and
// failures, and is worked out anew when one of them changes: each branch compares all cliques.
double ValleySearch::score_of(int clique) const
{
    const bool slack =
        !bounding_[clique] || floor_[clique] + total_[clique] + grain_ <= capacity_ + grain_ - 1;
    const double options = options_[clique] + (slack ? 1 : 0);
    if (options <= 1) {
        return -1.0; // forced
    }
    switch (strategy_.selector) {
    case Selector::kFewest:
        return options + static_cast<double>(floor_[clique]) / static_cast<double>(capacity_ + 1);
    case Selector::kFailures:
        return options / failures_[clique];
    case Selector::kLowest:
        return static_cast<double>(floor_[clique]);
    }
    return options;
}

int ValleySearch::choose(std::size_t begin, std::size_t end) const
{
    int best = -1;
    double best_score = std::numeric_limits<double>::infinity();
    for (std::size_t i = begin; i < end; ++i) {
        const int clique = active_[i];
        const double found = score_[clique];
        if (found < best_score && is_valley(clique)) {
            best = clique;
            best_score = found;
            if (best_score < 0.0) {
                break; // forced, and no score is less
            }
        }
    }
    return best;
}

// Neighbouring floors that the unit would be level with: it leaves no step there.
int ValleySearch::fits_beside(int unit) const
{
    const Bytes top = bound_[unit] + problem_.units[unit].size;
    int level = 0;
    for (int s : cliques_of_[unit]) {
        for (const auto &[other, link] : links_of_[s]) {
            level += remaining_[other] > 0 && floor_[other] == top ? 1 : 0;
        }
    }
    return level;
}

// All supports are worked out before any bound moves, so that the order of units is without effect.
bool ValleySearch::raise_all(std::size_t first, std::size_t last)
{
    bool fits = true;
    emptied_ = false;
    rises_.clear();
    for (std::size_t i = first; i < last; ++i) {
        rises_.push_back(next_support(choices_[i]));
        fits = fits && rises_.back() + problem_.units[choices_[i]].size <= capacity_;
    }
    for (std::size_t i = first; i < last && fits; ++i) {
        fits = raise(choices_[i], rises_[i - first]);
    }
    return settle() && fits;
}

Verdict ValleySearch::branch(std::size_t begin, std::size_t end)
{
    const int clique = choose(begin, end);
    const std::size_t first = choices_.size();
    for (int i = 0; i < remaining_[clique]; ++i) {
        const int u = members_[clique][static_cast<std::size_t>(i)].unit;
        if (bound_[u] == floor_[clique]) {
            choices_.push_back(u);
        }
    }
    // Only the first of several twins is branched upon; the others rise with the rest.
    const std::size_t last = choices_.size();
    const auto start = choices_.begin() + static_cast<std::ptrdiff_t>(first);
    const auto middle =
        std::partition(start, choices_.end(), [&](int u) { return is_first_twin(u); });
    if (strategy_.order == ValueOrder::kFit) {
        for (auto unit = start; unit != middle; ++unit) {
            urgency_[*unit] = priority_[*unit] * (1.0 + kFitWeight * fits_beside(*unit));
        }
    }
    const std::vector<double> &key = strategy_.order == ValueOrder::kFit ? urgency_ : priority_;
    std::sort(start, middle,
              [&](int a, int b) { return key[a] != key[b] ? key[a] > key[b] : a < b; });
    const std::size_t branches = first + static_cast<std::size_t>(middle - start);
    const Mark before = mark();
    Verdict verdict = Verdict::kDoesNotFit;
    for (std::size_t i = first; i <= branches && verdict == Verdict::kDoesNotFit; ++i) {
        if (nodes_ >= budget_) {
            verdict = Verdict::kBudget;
            break;
        }
        ++nodes_;
        const bool placing = i < branches;
        const bool fits = placing ? place(choices_[i]) : raise_all(first, last);
        verdict = fits ? solve(begin, end, placing && cut_) : Verdict::kDoesNotFit;
        if (verdict == Verdict::kDoesNotFit) {
            undo(before);
        }
    }
    choices_.resize(first);
    return verdict;
}

} // namespace tilewright
