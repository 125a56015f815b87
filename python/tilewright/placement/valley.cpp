// SPDX-License-Identifier: Apache-2.0
#include "valley.hpp"

#include <algorithm>
#include <iterator>

namespace tilewright
{
namespace
{

constexpr Bytes kNone = kUnlimited;

} // namespace

bool is_layered(const Problem &problem)
{
    for (const Unit &unit : problem.units) {
        for (const Neighbour &neighbour : unit.neighbours) {
            const bool obstacle = unit.fixed >= 0 || problem.units[neighbour.unit].fixed >= 0;
            const Zone &zone = neighbour.zones.front();
            if (!obstacle && (neighbour.zones.size() != 1 || zone.low >= 0 || zone.high <= 0)) {
                return false;
            }
        }
    }
    return true;
}

ValleySearch::ValleySearch(const Problem &problem, const CliqueCover &cover)
    : problem_(problem), grain_(common_grain(problem))
{
    for (const Unit &unit : problem.units) {
        whole_.push_back(round_up(unit.size, grain_));
    }
    const std::size_t n = problem.units.size();
    prepare_units(cover);
    prepare_tree(cover);
    prepare_classes();
    prepare_moments(cover);
    const std::size_t cliques = members_.size();
    dirty_.assign(cliques, 0);
    stamp_.assign(cliques, 0);
    score_.assign(cliques, 0.0);
    priority_.assign(n, 0.0);
    urgency_.assign(n, 0.0);
}

void ValleySearch::add_clique(const std::vector<int> &units, bool bounding)
{
    const int clique = static_cast<int>(members_.size());
    members_.emplace_back();
    fixed_in_.emplace_back();
    bounding_.push_back(bounding);
    for (int u : units) {
        const Unit &unit = problem_.units[u];
        if (unit.fixed >= 0) {
            fixed_in_.back().push_back({unit.fixed, unit.fixed + unit.size});
            continue;
        }
        seats_of_[u].push_back({clique, static_cast<int>(members_.back().size())});
        members_.back().push_back({u, static_cast<int>(cliques_of_[u].size())});
        cliques_of_[u].push_back(clique);
    }
}

void ValleySearch::prepare_units(const CliqueCover &cover)
{
    const std::size_t n = problem_.units.size();
    edges_.resize(n);
    seats_of_.resize(n);
    cliques_of_.resize(n);
    obstacles_.resize(n);
    unit_links_.resize(n);
    has_tree_ = cover.chordal;
    for (const auto &clique : cover.cliques) {
        add_clique(clique, true);
    }
    for (int u = 0; u < problem_.count(); ++u) {
        if (problem_.units[u].fixed >= 0) {
            continue;
        }
        for (const Neighbour &neighbour : problem_.units[u].neighbours) {
            const int v = neighbour.unit;
            const Bytes fixed = problem_.units[v].fixed;
            if (fixed >= 0) {
                for (const Zone &zone : neighbour.zones) {
                    obstacles_[u].push_back({fixed + zone.low, fixed + zone.high});
                }
                continue;
            }
            edges_[u].push_back({v, -neighbour.zones.front().low, neighbour.zones.front().high});
            if (u < v && !is_disjoint(problem_, u, neighbour)) {
                has_tree_ = false;
                add_clique({u, v}, false);
            }
        }
        std::sort(obstacles_[u].begin(), obstacles_[u].end(),
                  [](const Obstacle &a, const Obstacle &b) { return a.low < b.low; });
    }
}

void ValleySearch::prepare_tree(const CliqueCover &cover)
{
    links_of_.resize(members_.size());
    if (!has_tree_) {
        return;
    }
    for (const auto &[a, b] : cover.tree) {
        const int link = static_cast<int>(spanned_.size());
        spanned_.push_back(0);
        links_of_[a].emplace_back(b, link);
        links_of_[b].emplace_back(a, link);
        std::vector<int> both;
        std::set_intersection(cover.cliques[a].begin(), cover.cliques[a].end(),
                              cover.cliques[b].begin(), cover.cliques[b].end(),
                              std::back_inserter(both));
        for (int u : both) {
            unit_links_[u].push_back(link);
        }
    }
}

// Units that could change places: only the first of them that is left is ever branched upon.
void ValleySearch::prepare_classes()
{
    twin_.assign(problem_.units.size(), -1);
    const auto same = [&](int u, int v) {
        const Unit &a = problem_.units[u], &b = problem_.units[v];
        return a.size == b.size && a.modulus == b.modulus && a.residue == b.residue &&
               cliques_of_[u] == cliques_of_[v] && obstacles_[u].empty() && obstacles_[v].empty();
    };
    for (int v = 0; v < problem_.count(); ++v) {
        if (problem_.units[v].fixed >= 0 || cliques_of_[v].empty()) {
            continue;
        }
        const bool plain = std::all_of(cliques_of_[v].begin(), cliques_of_[v].end(),
                                       [&](int s) { return bounding_[s]; });
        for (const Member &member : members_[cliques_of_[v].front()]) {
            if (plain && member.unit < v && same(member.unit, v)) {
                twin_[v] = std::max(twin_[v], member.unit);
            }
        }
    }
}

Bytes ValleySearch::next_offset(int unit, Bytes from) const
{
    Bytes offset = align_up(problem_.units[unit], from);
    for (const Obstacle &obstacle : obstacles_[unit]) {
        if (obstacle.low < offset && offset < obstacle.high) {
            offset = align_up(problem_.units[unit], obstacle.high);
        }
    }
    return offset;
}

bool ValleySearch::reset()
{
    const std::size_t n = problem_.units.size();
    bound_.assign(n, 0);
    offset_.assign(n, 0);
    placed_.assign(n, 0);
    floor_.assign(members_.size(), kNone);
    total_.assign(members_.size(), 0);
    remaining_.assign(members_.size(), 0);
    options_.assign(members_.size(), 0);
    std::fill(spanned_.begin(), spanned_.end(), 0);
    bound_log_.clear();
    floor_log_.clear();
    placed_log_.clear();
    active_.clear();
    for (int u = 0; u < problem_.count(); ++u) {
        const Unit &unit = problem_.units[u];
        if (unit.fixed >= 0) {
            offset_[u] = unit.fixed;
            if (unit.fixed + unit.size > capacity_) {
                return false;
            }
            continue;
        }
        offset_[u] = bound_[u] = next_offset(u, 0);
        if (bound_[u] + unit.size > capacity_) {
            return false;
        }
        for (int link : unit_links_[u]) {
            ++spanned_[link];
        }
    }
    dirty_list_.clear();
    for (int s = 0; s < static_cast<int>(members_.size()); ++s) {
        for (const Member &member : members_[s]) {
            total_[s] += whole_[member.unit];
            ++remaining_[s];
        }
        if (remaining_[s] > 0) {
            active_.push_back(s);
        }
        dirty_[s] = 1;
        dirty_list_.push_back(s);
    }
    return settle();
}

bool ValleySearch::raise(int unit, Bytes offset)
{
    const Bytes old = bound_[unit];
    bound_log_.push_back({unit, old});
    bound_[unit] = offset;
    const bool is_first = is_first_twin(unit);
    for (int s : cliques_of_[unit]) {
        if (floor_[s] == old) {
            touch(s);
            options_[s] -= is_first ? 1 : 0;
        }
    }
    if (offset + problem_.units[unit].size <= capacity_) {
        return true;
    }
    for (int s : cliques_of_[unit]) {
        failures_[s] += 1.0 / static_cast<double>(cliques_of_[unit].size());
        score_[s] = score_of(s);
    }
    return false;
}

bool ValleySearch::place(int unit)
{
    placed_[unit] = 1;
    placed_log_.push_back(unit);
    offset_[unit] = bound_[unit];
    const Bytes size = whole_[unit];
    emptied_ = false;
    for (const Seat &seat : seats_of_[unit]) {
        const int s = seat.clique;
        total_[s] -= size;
        Member *const members = members_[s].data();
        const int last = --remaining_[s];
        emptied_ = last == 0 || emptied_;
        const int position = seat.position;
        std::swap(members[position], members[last]);
        seats_of_[members[position].unit][static_cast<std::size_t>(members[position].slot)]
            .position = position;
        seats_of_[unit][static_cast<std::size_t>(members[last].slot)].position = last;
        touch(s);
        options_[s] = 0;
    }
    cut_ = false;
    for (int link : unit_links_[unit]) {
        cut_ = --spanned_[link] == 0 || cut_;
    }
    bool fits = true;
    for (const Edge &edge : edges_[unit]) {
        if (placed_[edge.unit] || bound_[edge.unit] >= offset_[unit] + edge.above) {
            continue;
        }
        fits = raise(edge.unit, next_offset(edge.unit, offset_[unit] + edge.above));
        if (!fits) {
            break;
        }
    }
    return (fits && in_time_ ? settle_beside(unit) : settle()) && fits;
}

void ValleySearch::undo(const Mark &mark)
{
    while (placed_log_.size() > mark.placed) {
        const int unit = placed_log_.back();
        placed_log_.pop_back();
        placed_[unit] = 0;
        for (int s : cliques_of_[unit]) {
            total_[s] += whole_[unit];
            ++remaining_[s];
        }
        for (int link : unit_links_[unit]) {
            ++spanned_[link];
        }
    }
    while (bound_log_.size() > mark.bounds) {
        bound_[bound_log_.back().index] = bound_log_.back().old;
        bound_log_.pop_back();
    }
    while (floor_log_.size() > mark.floors) {
        floor_[floor_log_.back().clique] = floor_log_.back().floor;
        options_[floor_log_.back().clique] = floor_log_.back().options;
        score_[floor_log_.back().clique] = score_of(floor_log_.back().clique);
        floor_log_.pop_back();
    }
}

Bytes ValleySearch::next_support(int unit) const
{
    Bytes support = kNone;
    for (const Edge &edge : edges_[unit]) {
        if (!placed_[edge.unit]) {
            support = std::min(support, bound_[edge.unit] + edge.below);
        }
    }
    return support == kNone ? kNone : next_offset(unit, std::max(support, bound_[unit] + 1));
}

} // namespace tilewright
