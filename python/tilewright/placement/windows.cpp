// SPDX-License-Identifier: Apache-2.0
#include "windows.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace tilewright
{
namespace
{

constexpr int kFirstUnits = 200, kMostUnits = 3200;
constexpr std::int64_t kWindowNodes = 10'000;
// Pairs of units that are looked at while a window is made, for one node of the budget.
constexpr std::int64_t kPairsPerNode = 50;
// Targets between the bound and the peak, in eighths of their distance.
constexpr std::array<Bytes, 4> kTargets{0, 1, 3, 6};

// The units of a window: `moved` are searched, `kept` stay where they are.
struct Window {
    std::vector<int> moved, kept;
};

class Windows
{
  public:
    Windows(const Lives &lives, LiveFit start, const Request &request)
        : lives_(lives), request_(request), layout_(std::move(start.layout)), bound_(start.bound),
          goal_(request.minimise ? start.bound : std::max(start.bound, request.limit)),
          apart_(units_apart(lives)), position_(lives.begins.size(), -1)
    {
        for (std::size_t u = 0; u < lives.begins.size(); ++u) {
            if (lives.begins[u] < lives.ends[u]) {
                by_begin_.push_back(static_cast<int>(u));
            }
        }
        std::stable_sort(by_begin_.begin(), by_begin_.end(),
                         [&](int u, int v) { return lives.begins[u] < lives.begins[v]; });
    }

    Answer run()
    {
        if (bound_ > request_.limit) {
            return answer(Verdict::kDoesNotFit);
        }
        while (layout_.peak > goal_ && spent_ < request_.nodes && lower_highest()) {
            if (request_.progress) {
                request_.progress(layout_.peak, bound_, spent_);
            }
        }
        return answer(layout_.peak <= request_.limit ? Verdict::kFits : Verdict::kBudget);
    }

  private:
    [[nodiscard]] const Unit &unit(int u) const
    {
        return lives_.problem.units[u];
    }
    [[nodiscard]] Bytes end(int u) const
    {
        return layout_.offsets[u] + unit(u).size;
    }
    [[nodiscard]] bool is_alive(int u, Bytes from, Bytes to) const
    {
        return lives_.begins[u] < to && from < lives_.ends[u];
    }

    bool lower_highest()
    {
        int highest = 0;
        for (int u = 1; u < lives_.problem.count(); ++u) {
            highest = end(u) > end(highest) ? u : highest;
        }
        if (lives_.begins[highest] >= lives_.ends[highest] || unit(highest).fixed >= 0) {
            return false;
        }
        for (int units = kFirstUnits; units <= kMostUnits; units *= 2) {
            const Window window = around(highest, units);
            if (window.moved.size() > 2 * static_cast<std::size_t>(kMostUnits)) {
                return false;
            }
            for (Bytes eighths : kTargets) {
                const Bytes target = goal_ + (layout_.peak - 1 - goal_) * eighths / 8;
                if (spent_ < request_.nodes && fit(window, target)) {
                    update_peak();
                    return true;
                }
            }
        }
        return false;
    }

    // The unit itself, and about `units` others that begin shortly before or after it.
    [[nodiscard]] Window around(int centre, int units) const
    {
        const auto at =
            std::lower_bound(by_begin_.begin(), by_begin_.end(), lives_.begins[centre],
                             [&](int u, Bytes tick) { return lives_.begins[u] < tick; });
        const auto place = at - by_begin_.begin();
        const auto last = static_cast<std::ptrdiff_t>(by_begin_.size()) - 1;
        const int first = by_begin_[std::max<std::ptrdiff_t>(0, place - units / 2)];
        const int behind = by_begin_[std::min<std::ptrdiff_t>(last, place + units / 2)];
        const Bytes from = lives_.begins[first];
        const Bytes to = std::max(lives_.ends[centre], lives_.begins[behind] + 1);
        Window window;
        for (int u : by_begin_) {
            if (!is_alive(u, from, to)) {
                continue;
            }
            const bool inside = from <= lives_.begins[u] && lives_.ends[u] <= to;
            (inside && unit(u).fixed < 0 ? window.moved : window.kept).push_back(u);
        }
        return window;
    }

    // Whether new offsets were found at which no moved unit ends above `target`.
    bool fit(Window window, Bytes target)
    {
        for (std::size_t i = 0, count = window.moved.size(); i < count; ++i) {
            for (const Neighbour &neighbour : unit(window.moved[i]).neighbours) {
                window.kept.push_back(neighbour.unit);
            }
        }
        const Problem problem = inside(window, target);
        const auto pairs = static_cast<std::int64_t>(window.moved.size()) * problem.count() / 2;
        Request request;
        request.limit = target;
        request.minimise = false;
        request.nodes = std::min(kWindowNodes, request_.nodes - spent_);
        request.seed = request_.seed;
        const Answer found = solve(problem, request);
        spent_ += found.nodes + problem.count() + pairs / kPairsPerNode;
        if (found.verdict != Verdict::kFits) {
            return false;
        }
        for (std::size_t i = 0; i < window.moved.size(); ++i) {
            layout_.offsets[window.moved[i]] = found.offsets[i];
        }
        return true;
    }

    // Moved units first, in their order; of kept ones the bytes below `target`.
    Problem inside(const Window &window, Bytes target)
    {
        Problem problem;
        std::vector<int> units;
        for (int u : window.moved) {
            add(u, {unit(u).size, unit(u).modulus, unit(u).residue, -1, {}}, units, problem);
        }
        const int moved = problem.count();
        for (int u : window.kept) {
            const Bytes offset = layout_.offsets[u];
            if (position_[u] < 0 && offset < target) {
                add(u, {std::min(unit(u).size, target - offset), 1, 0, offset, {}}, units, problem);
            }
        }
        for (int i = 0; i < moved; ++i) {
            join_listed(units[i], i, problem);
            for (int j = i + 1; j < problem.count(); ++j) {
                if (conflict_by_life(units[i], units[j])) {
                    join(i, j, Zones({-problem.units[i].size, problem.units[j].size}), problem);
                }
            }
        }
        for (int u : units) {
            position_[u] = -1;
        }
        return problem;
    }

    void add(int u, Unit copy, std::vector<int> &units, Problem &problem)
    {
        position_[u] = problem.count();
        units.push_back(u);
        problem.units.push_back(std::move(copy));
    }

    // Zones of listed pairs speak of the whole size of a kept unit, so they forbid no less.
    void join_listed(int u, int i, Problem &problem) const
    {
        for (const Neighbour &neighbour : unit(u).neighbours) {
            const int j = position_[neighbour.unit];
            if (j > i) {
                join(i, j, neighbour.zones, problem);
            }
        }
    }

    [[nodiscard]] bool conflict_by_life(int u, int v) const
    {
        return is_alive(u, lives_.begins[v], lives_.ends[v]) && lives_.begins[v] < lives_.ends[v] &&
               !std::binary_search(apart_[u].begin(), apart_[u].end(), v);
    }

    static void join(int i, int j, const Zones &zones, Problem &problem)
    {
        problem.units[j].neighbours.push_back({i, zones.mirrored()});
        problem.units[i].neighbours.push_back({j, zones});
    }

    void update_peak()
    {
        layout_.peak = 0;
        for (int u = 0; u < lives_.problem.count(); ++u) {
            layout_.peak = std::max(layout_.peak, end(u));
        }
    }

    Answer answer(Verdict verdict)
    {
        return {verdict, layout_.offsets, layout_.peak, bound_, spent_};
    }

    const Lives &lives_;
    const Request &request_;
    Layout layout_;
    Bytes bound_, goal_;
    std::vector<std::vector<int>> apart_;
    std::vector<int> position_; // in the window's problem, else -1
    std::vector<int> by_begin_;
    std::int64_t spent_ = 0;
};

} // namespace

Answer improve_in_windows(const Lives &lives, LiveFit start, const Request &request)
{
    return Windows(lives, std::move(start), request).run();
}

} // namespace tilewright
