// SPDX-License-Identifier: Apache-2.0
#include "disjunctive.hpp"

#include <algorithm>
#include <numeric>

namespace tilewright
{
namespace
{

constexpr int kDeepest = 20000;
constexpr std::int64_t kStepsPerNode = 64;
// A bound beyond kFar has passed every offset that a placement can have.
constexpr Bytes kFar = kUnlimited / 4;

Bytes align_down(const Unit &unit, Bytes offset)
{
    return unit.modulus == 1 ? offset : align_up(unit, offset - unit.modulus + 1);
}

} // namespace

DisjunctiveSearch::DisjunctiveSearch(const Problem &problem, const CliqueCover &cover)
    : problem_(problem), cover_(cover)
{
    for (int u = 0; u < problem.count(); ++u) {
        for (const Neighbour &neighbour : problem.units[u].neighbours) {
            if (u < neighbour.unit) {
                pairs_.push_back({u, neighbour.unit, &neighbour.zones});
            }
        }
    }
}

Verdict DisjunctiveSearch::run(Bytes capacity, double noise, std::int64_t budget, Random &random)
{
    random_ = &random;
    noise_ = noise;
    nodes_ = 0;
    budget_ = budget;
    const std::size_t n = problem_.units.size();
    low_.assign(n, 0);
    high_.assign(n, 0);
    out_.assign(n, {});
    in_.assign(n, {});
    queued_.assign(n, 0);
    arc_log_.clear();
    log_.clear();
    queue_.clear();
    for (int u = 0; u < problem_.count(); ++u) {
        const Unit &unit = problem_.units[u];
        low_[u] = unit.fixed >= 0 ? unit.fixed : align_up(unit, 0);
        high_[u] = unit.fixed >= 0 ? unit.fixed : align_down(unit, capacity - unit.size);
        if (low_[u] > high_[u] || low_[u] + unit.size > capacity) {
            return Verdict::kDoesNotFit;
        }
    }
    for (Pair &pair : pairs_) {
        pair.failures = 1.0 + 0.5 * (pair.failures - 1.0);
    }
    return cliques_fit() ? solve(0) : Verdict::kDoesNotFit;
}

bool DisjunctiveSearch::raise(int unit, Bytes offset)
{
    offset = align_up(problem_.units[unit], offset);
    if (offset <= low_[unit]) {
        return true;
    }
    log_.push_back({unit, false, low_[unit]});
    low_[unit] = offset;
    if (!queued_[unit]) {
        queued_[unit] = 1;
        queue_.push_back(unit);
    }
    return offset <= high_[unit];
}

bool DisjunctiveSearch::lower(int unit, Bytes offset)
{
    offset = align_down(problem_.units[unit], offset);
    if (offset >= high_[unit]) {
        return true;
    }
    log_.push_back({unit, true, high_[unit]});
    high_[unit] = offset;
    if (!queued_[unit]) {
        queued_[unit] = 1;
        queue_.push_back(unit);
    }
    return low_[unit] <= offset;
}

bool DisjunctiveSearch::propagate()
{
    bool fits = true;
    for (std::size_t next = 0; next < queue_.size(); ++next) {
        const int unit = queue_[next];
        queued_[unit] = 0;
        for (const Arc &arc : out_[unit]) {
            fits = fits && raise(arc.to, low_[unit] + arc.distance);
        }
        for (const Arc &arc : in_[unit]) {
            fits = fits && lower(arc.to, high_[unit] - arc.distance);
        }
    }
    // Bounds on a circle of gaps may creep up byte by byte, so steps of the queue count as nodes, too.
    nodes_ += static_cast<std::int64_t>(queue_.size()) / kStepsPerNode;
    queue_.clear();
    return fits && cliques_fit();
}

bool DisjunctiveSearch::cliques_fit() const
{
    for (const auto &clique : cover_.cliques) {
        Bytes first = kUnlimited, last = 0, sum = 0;
        for (int u : clique) {
            first = std::min(first, low_[u]);
            last = std::max(last, high_[u] + problem_.units[u].size);
            sum += problem_.units[u].size;
        }
        if (first + sum > last) {
            return false;
        }
    }
    return true;
}

bool DisjunctiveSearch::decide(const Pair &pair, std::size_t gap)
{
    const Zones &zones = *pair.zones;
    bool fits = true;
    if (gap < zones.size()) { // offset(v) >= offset(u) - low
        const Bytes distance = -zones[gap].low;
        out_[pair.u].push_back({pair.v, distance});
        in_[pair.v].push_back({pair.u, distance});
        arc_log_.emplace_back(pair.u, pair.v);
        fits = raise(pair.v, low_[pair.u] + distance) && lower(pair.u, high_[pair.v] - distance);
    }
    if (gap > 0 && fits) { // offset(u) >= offset(v) + high
        const Bytes distance = zones[gap - 1].high;
        out_[pair.v].push_back({pair.u, distance});
        in_[pair.u].push_back({pair.v, distance});
        arc_log_.emplace_back(pair.v, pair.u);
        fits = raise(pair.u, low_[pair.v] + distance) && lower(pair.v, high_[pair.u] - distance);
    }
    if (!fits) {
        for (int unit : queue_) {
            queued_[unit] = 0;
        }
        queue_.clear();
        return false;
    }
    return propagate();
}

void DisjunctiveSearch::undo(std::size_t changes, std::size_t arcs)
{
    while (log_.size() > changes) {
        const Change &change = log_.back();
        (change.upper ? high_ : low_)[change.unit] = change.old;
        log_.pop_back();
    }
    while (arc_log_.size() > arcs) {
        const auto [from, to] = arc_log_.back();
        out_[from].pop_back();
        in_[to].pop_back();
        arc_log_.pop_back();
    }
}

bool DisjunctiveSearch::broken(const Pair &pair) const
{
    const Bytes difference = low_[pair.u] - low_[pair.v];
    return std::any_of(pair.zones->begin(), pair.zones->end(), [&](const Zone &zone) {
        return zone.forbids(difference);
    });
}

// Bytes by which a gap moves bounds; kFar if it is closed.
double DisjunctiveSearch::cost(const Pair &pair, std::size_t gap) const
{
    const Zones &zones = *pair.zones;
    Bytes moved = 0;
    if (gap < zones.size()) {
        const Bytes distance = -zones[gap].low;
        if (low_[pair.u] + distance > high_[pair.v]) {
            return static_cast<double>(kFar);
        }
        moved += std::max<Bytes>(0, low_[pair.u] + distance - low_[pair.v]);
    }
    if (gap > 0) {
        const Bytes distance = zones[gap - 1].high;
        if (low_[pair.v] + distance > high_[pair.u]) {
            return static_cast<double>(kFar);
        }
        moved += std::max<Bytes>(0, low_[pair.v] + distance - low_[pair.u]);
    }
    return static_cast<double>(moved);
}

// The broken pair whose cheapest gap moves bounds furthest; closed gaps come before everything.
int DisjunctiveSearch::choose() const
{
    int best = -1;
    double best_score = 0.0;
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
        if (!broken(pairs_[i])) {
            continue;
        }
        double cheapest = static_cast<double>(kFar);
        int open = 0;
        for (std::size_t gap = 0; gap <= pairs_[i].zones->size(); ++gap) {
            const double moved = cost(pairs_[i], gap);
            open += moved < static_cast<double>(kFar) ? 1 : 0;
            cheapest = std::min(cheapest, moved);
        }
        if (open == 0) {
            return static_cast<int>(i);
        }
        const double score = (open == 1 ? 1e30 : 1.0) * (cheapest + 1.0) * pairs_[i].failures;
        if (best < 0 || score > best_score) {
            best = static_cast<int>(i);
            best_score = score;
        }
    }
    return best;
}

Verdict DisjunctiveSearch::solve(int depth)
{
    const int chosen = choose();
    if (chosen < 0) {
        return Verdict::kFits;
    }
    if (depth > kDeepest) {
        return Verdict::kBudget;
    }
    std::vector<std::pair<double, std::size_t>> gaps;
    for (std::size_t gap = 0; gap <= pairs_[chosen].zones->size(); ++gap) {
        const double moved = cost(pairs_[chosen], gap);
        if (moved < static_cast<double>(kFar)) {
            gaps.emplace_back(moved * (1.0 + noise_ * random_->unit()), gap);
        }
    }
    std::sort(gaps.begin(), gaps.end());
    const std::size_t changes = log_.size(), arcs = arc_log_.size();
    for (const auto &[moved, gap] : gaps) {
        if (nodes_ >= budget_) {
            return Verdict::kBudget;
        }
        ++nodes_;
        if (decide(pairs_[chosen], gap)) {
            const Verdict verdict = solve(depth + 1);
            if (verdict != Verdict::kDoesNotFit) {
                return verdict;
            }
        }
        undo(changes, arcs);
        pairs_[chosen].failures += 1.0;
    }
    return Verdict::kDoesNotFit;
}

} // namespace tilewright
