// SPDX-License-Identifier: Apache-2.0
// The floors of cliques in the valley search: which they are, and whether no neighbour begins
// below.
#include <algorithm>
#include <numeric>

#include "valley.hpp"

namespace tilewright
{

// Where all conflicts come from lifetimes, cliques are moments: their units live when the last of
// them begins. What a clique's units have in common is then found by one pass over moments instead
// of one over the units of each clique.
void ValleySearch::prepare_moments(const CliqueCover &cover)
{
    in_time_ = has_tree_ && !problem_.begins.empty();
    if (!in_time_) {
        return;
    }
    std::vector<Bytes> ticks;
    for (const std::vector<int> &clique : cover.cliques) {
        ticks.push_back(0);
        for (int u : clique) {
            ticks.back() = std::max(ticks.back(), problem_.begins[u]);
        }
    }
    clique_at_.resize(ticks.size());
    std::iota(clique_at_.begin(), clique_at_.end(), 0);
    std::stable_sort(clique_at_.begin(), clique_at_.end(),
                     [&](int a, int b) { return ticks[a] < ticks[b]; });
    moment_.resize(ticks.size());
    for (std::size_t moment = 0; moment < ticks.size(); ++moment) {
        moment_[clique_at_[moment]] = static_cast<int>(moment);
    }
    for (const std::vector<int> &cliques : cliques_of_) {
        Span span{static_cast<int>(ticks.size()), 0};
        for (int s : cliques) {
            span = {std::min(span.begin, moment_[s]), std::max(span.end, moment_[s] + 1)};
        }
        spans_.push_back(span);
        in_time_ = in_time_ &&
                   (cliques.empty() || span.end - span.begin == static_cast<int>(cliques.size()));
    }
    standing_.assign(ticks.size() + 1, 0);
}

bool ValleySearch::overflows(int clique, Bytes floor) const
{
    if (!bounding_[clique] || remaining_[clique] == 0) {
        return false;
    }
    Bytes need = floor + total_[clique];
    for (const Obstacle &fixed : fixed_in_[clique]) {
        need += std::max<Bytes>(0, fixed.high - std::max(fixed.low, floor));
    }
    return need > capacity_ + grain_ - 1;
}

// Brings the floors of all cliques that were touched up to date. At the moments of `counted`, no
// unit can begin below `lowest`, and `standing_` counts those that can begin there.
bool ValleySearch::settle(Span counted, Bytes lowest)
{
    bool fits = true;
    for (int s : dirty_list_) {
        dirty_[s] = 0;
        if (options_[s] > 0) {
            score_[s] = score_of(s); // others still stand on its floor
            continue;
        }
        const int moment = in_time_ ? moment_[s] : -1;
        if (counted.begin <= moment && moment < counted.end && standing_[moment] > 0) {
            floor_[s] = lowest;
            options_[s] = standing_[moment];
        } else {
            find_floor(s);
        }
        if (overflows(s, floor_[s])) {
            failures_[s] += 1.0;
            fits = false;
        }
        score_[s] = score_of(s);
    }
    dirty_list_.clear();
    return fits;
}

// Settles behind a placement that has raised all neighbours at least to the top of the unit: most
// of them stand at one offset now.
bool ValleySearch::settle_beside(int unit)
{
    const Span span = spans_[unit];
    Bytes lowest = kUnlimited;
    for (const Edge &edge : edges_[unit]) {
        lowest = placed_[edge.unit] ? lowest : std::min(lowest, bound_[edge.unit]);
    }
    std::fill(standing_.begin() + span.begin, standing_.begin() + span.end + 1, 0);
    for (const Edge &edge : edges_[unit]) {
        const int v = edge.unit;
        if (bound_[v] == lowest && !placed_[v] && is_first_twin(v)) {
            ++standing_[std::max(spans_[v].begin, span.begin)];
            --standing_[std::min(spans_[v].end, span.end)];
        }
    }
    for (int moment = span.begin + 1; moment < span.end; ++moment) {
        standing_[moment] += standing_[moment - 1];
    }
    return settle(span, lowest);
}

void ValleySearch::find_floor(int clique)
{
    Bytes floor = kUnlimited;
    int options = 0;
    const Member *const members = members_[clique].data();
    for (int i = 0; i < remaining_[clique]; ++i) {
        const int u = members[i].unit;
        if (bound_[u] < floor) {
            floor = bound_[u];
            options = 0;
        }
        options += bound_[u] == floor && is_first_twin(u) ? 1 : 0;
    }
    floor_[clique] = floor;
    options_[clique] = options;
}

// No neighbour of the units on the floor may begin below it.
bool ValleySearch::is_valley(int clique) const
{
    const Bytes floor = floor_[clique];
    const Member *const members = members_[clique].data();
    Span seen = in_time_ ? Span{moment_[clique], moment_[clique] + 1} : Span{0, 0};
    for (int i = 0; i < remaining_[clique]; ++i) {
        const int u = members[i].unit;
        if (bound_[u] != floor) {
            continue;
        }
        if (in_time_ ? !is_level(floor, spans_[u], seen) : !is_level(floor, u)) {
            return false;
        }
    }
    return true;
}

bool ValleySearch::is_level(Bytes floor, int unit) const
{
    const std::vector<int> &cliques = cliques_of_[unit];
    return std::none_of(cliques.begin(), cliques.end(), [&](int s) { return floor_[s] < floor; });
}

// Whether no floor of `span` is below this one; `seen` are those that were looked at, one at least
// of the span among them.
bool ValleySearch::is_level(Bytes floor, Span span, Span &seen) const
{
    for (; seen.begin > span.begin; --seen.begin) {
        if (floor_[clique_at_[seen.begin - 1]] < floor) {
            return false;
        }
    }
    for (; seen.end < span.end; ++seen.end) {
        if (floor_[clique_at_[seen.end]] < floor) {
            return false;
        }
    }
    return true;
}

} // namespace tilewright
