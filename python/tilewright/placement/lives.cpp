// SPDX-License-Identifier: Apache-2.0
#include "lives.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "cliques.hpp"
#include "occupied.hpp"

namespace tilewright
{
namespace
{

// The placed ones of the units with listed pairs, by lifetime.
class ListedUnits
{
  public:
    explicit ListedUnits(const Lives &lives)
        : lives_(lives), tree_(lives.begins, lives.ends), units_(2 * tree_.width()),
          has_any_(2 * tree_.width(), 0), seen_(lives.begins.size(), 0)
    {
    }

    void clear()
    {
        std::fill(units_.begin(), units_.end(), std::vector<int>{});
        std::fill(has_any_.begin(), has_any_.end(), 0);
    }

    void add(int unit)
    {
        tree_.nodes_of(lives_.begins[unit], lives_.ends[unit], nodes_);
        for (std::size_t node : nodes_) {
            units_[node].push_back(unit);
            for (std::size_t up = node; up > 0 && !has_any_[up]; up /= 2) {
                has_any_[up] = 1;
            }
        }
    }

    // Calls `visit` once for each placed unit that lives when `unit` does.
    template <typename Visit> void around(int unit, Visit visit)
    {
        if (!has_any_[1]) {
            return;
        }
        ++turn_;
        tree_.nodes_of(lives_.begins[unit], lives_.ends[unit], nodes_);
        for (std::size_t node : nodes_) {
            for (std::size_t up = node / 2; up > 0; up /= 2) {
                report(up, visit);
            }
            inside(node, visit);
        }
    }

  private:
    template <typename Visit> void report(std::size_t node, Visit visit)
    {
        for (int unit : units_[node]) {
            if (seen_[unit] != turn_) {
                seen_[unit] = turn_;
                visit(unit);
            }
        }
    }
    template <typename Visit> void inside(std::size_t node, Visit visit)
    {
        if (!has_any_[node]) {
            return;
        }
        report(node, visit);
        if (node < tree_.width()) {
            inside(2 * node, visit);
            inside(2 * node + 1, visit);
        }
    }

    const Lives &lives_;
    LifeTree tree_;
    std::vector<std::vector<int>> units_; // for each node, those of whose lifetime it is a part
    std::vector<char> has_any_;           // whether a node, or one below it, has units
    std::vector<std::size_t> nodes_;
    std::vector<std::uint64_t> seen_;
    std::uint64_t turn_ = 0;
};

class LiveDecoder
{
  public:
    explicit LiveDecoder(const Lives &lives)
        : lives_(lives), occupied_(lives.begins, lives.ends), listed_(lives),
          apart_(units_apart(lives))
    {
    }

    Layout decode(const std::vector<int> &order, Where where = Where::kLowest)
    {
        const Problem &problem = lives_.problem;
        layout_.offsets.assign(problem.units.size(), -1);
        layout_.peak = 0;
        occupied_.clear();
        listed_.clear();
        for (int u = 0; u < problem.count(); ++u) {
            if (problem.units[u].fixed >= 0) {
                put(u, problem.units[u].fixed);
            }
        }
        for (int u : order) {
            if (problem.units[u].fixed < 0) {
                put(u, where == Where::kLowest ? lowest(u) : above(u));
            }
        }
        return layout_;
    }

    // The neighbours of each unit, listed or by lifetime.
    [[nodiscard]] std::vector<std::size_t> degrees() const
    {
        std::vector<Bytes> begins, ends;
        for (std::size_t u = 0; u < lives_.begins.size(); ++u) {
            if (lives_.begins[u] < lives_.ends[u]) {
                begins.push_back(lives_.begins[u]);
                ends.push_back(lives_.ends[u]);
            }
        }
        std::sort(begins.begin(), begins.end());
        std::sort(ends.begin(), ends.end());
        std::vector<std::size_t> found;
        for (int u = 0; u < lives_.problem.count(); ++u) {
            std::size_t count = lives_.problem.units[u].neighbours.size();
            if (lives_.begins[u] < lives_.ends[u]) {
                const auto begun = std::lower_bound(begins.begin(), begins.end(), lives_.ends[u]);
                const auto ended = std::upper_bound(ends.begin(), ends.end(), lives_.begins[u]);
                count +=
                    static_cast<std::size_t>((begun - begins.begin()) - (ended - ends.begin()) - 1);
                count -= static_cast<std::size_t>(
                    std::count_if(apart_[u].begin(), apart_[u].end(), [&](int v) {
                        return lives_.begins[v] < lives_.ends[u] &&
                               lives_.begins[u] < lives_.ends[v] &&
                               lives_.begins[v] < lives_.ends[v];
                    }));
            }
            found.push_back(count);
        }
        return found;
    }

    [[nodiscard]] bool is_listed(int u) const
    {
        return !apart_[u].empty();
    }

  private:
    void put(int unit, Bytes offset)
    {
        layout_.offsets[unit] = offset;
        const Bytes end = offset + lives_.problem.units[unit].size;
        layout_.peak = std::max(layout_.peak, end);
        if (is_listed(unit)) {
            listed_.add(unit);
        } else {
            occupied_.add(unit, {offset, end});
        }
    }

    Bytes lowest(int unit)
    {
        collect_listed(unit);
        return occupied_.lowest(unit, lives_.problem.units[unit], taken_);
    }

    Bytes above(int unit)
    {
        collect_listed(unit);
        Bytes end = occupied_.highest(unit);
        for (const Zone &zone : taken_) {
            end = std::max(end, zone.high);
        }
        return align_up(lives_.problem.units[unit], end);
    }

    // Writes to `taken_` what the placed neighbours forbid that are not in `occupied_`.
    void collect_listed(int unit)
    {
        const Unit &u = lives_.problem.units[unit];
        taken_.clear();
        for (const Neighbour &neighbour : u.neighbours) {
            const Bytes at = layout_.offsets[neighbour.unit];
            if (at >= 0) {
                for (const Zone &zone : neighbour.zones) {
                    taken_.push_back({at + zone.low, at + zone.high});
                }
            }
        }
        listed_.around(unit, [&](int other) {
            if (!std::binary_search(apart_[unit].begin(), apart_[unit].end(), other)) {
                const Bytes at = layout_.offsets[other];
                taken_.push_back({at - u.size, at + lives_.problem.units[other].size});
            }
        });
    }

    const Lives &lives_;
    Occupied occupied_;
    ListedUnits listed_;
    std::vector<std::vector<int>> apart_;
    Layout layout_;
    std::vector<Zone> taken_;
};

// Most bytes of units that live at one time and whose conflicts follow from that alone.
Bytes bytes_at_once(const Lives &lives, const LiveDecoder &decoder)
{
    const Problem &problem = lives.problem;
    const Bytes grain = common_grain(problem);
    std::vector<std::pair<Bytes, int>> marks; // ends (unit as ~unit) sort before begins
    Bytes best = 0;
    for (int u = 0; u < problem.count(); ++u) {
        const Unit &unit = problem.units[u];
        best = std::max(best, unit.size + (unit.fixed >= 0 ? unit.fixed : unit.residue));
        if (lives.begins[u] < lives.ends[u] && !decoder.is_listed(u)) {
            marks.emplace_back(lives.begins[u], u);
            marks.emplace_back(lives.ends[u], ~u);
        }
    }
    std::sort(marks.begin(), marks.end());
    std::multiset<Bytes> wastes;
    Bytes sum = 0;
    for (const auto &[tick, mark] : marks) {
        const Bytes size = problem.units[mark < 0 ? ~mark : mark].size;
        const Bytes whole = round_up(size, grain);
        if (mark < 0) {
            sum -= whole;
            wastes.erase(wastes.find(whole - size));
        } else {
            sum += whole;
            wastes.insert(whole - size);
            best = std::max(best, sum - *wastes.rbegin());
        }
    }
    return best;
}

} // namespace

std::vector<std::vector<int>> units_apart(const Lives &lives)
{
    std::vector<std::vector<int>> apart(lives.begins.size());
    for (const auto *list : {&lives.pairs, &lives.free}) {
        for (const auto &[u, v] : *list) {
            apart[u].push_back(v);
            apart[v].push_back(u);
        }
    }
    for (auto &others : apart) {
        std::sort(others.begin(), others.end());
    }
    return apart;
}

Problem with_pairs(const Lives &lives)
{
    const Problem &listed = lives.problem;
    const auto apart = units_apart(lives);
    Problem whole;
    whole.begins = lives.begins;
    std::vector<int> order, alive;
    std::vector<std::pair<int, int>> pairs;
    for (int u = 0; u < listed.count(); ++u) {
        whole.units.push_back(listed.units[u]);
        whole.units[u].neighbours.clear();
        for (const Neighbour &neighbour : listed.units[u].neighbours) {
            if (u < neighbour.unit && shares_nothing(listed, u, neighbour)) {
                pairs.emplace_back(u, neighbour.unit);
            }
        }
        if (lives.begins[u] < lives.ends[u]) {
            order.push_back(u);
        }
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return lives.begins[a] < lives.begins[b]; });
    for (int u : order) {
        std::erase_if(alive, [&](int v) { return lives.ends[v] <= lives.begins[u]; });
        for (int v : alive) {
            if (!std::binary_search(apart[u].begin(), apart[u].end(), v)) {
                pairs.push_back(std::minmax(u, v));
            }
        }
        alive.push_back(u);
    }
    std::sort(pairs.begin(), pairs.end());
    for (const auto &[u, v] : pairs) {
        join(u, v, Zones({-listed.units[u].size, listed.units[v].size}), whole);
    }
    for (int u = 0; u < listed.count(); ++u) {
        for (const Neighbour &neighbour : listed.units[u].neighbours) {
            if (u < neighbour.unit && !shares_nothing(listed, u, neighbour)) {
                join(u, neighbour.unit, neighbour.zones, whole);
            }
        }
    }
    return whole;
}

LiveFit first_fit_by_lives(const Lives &lives)
{
    LiveDecoder decoder(lives);
    const std::vector<std::size_t> degrees = decoder.degrees();
    LiveFit best;
    best.bound = bytes_at_once(lives, decoder);
    best.pairs = std::accumulate(degrees.begin(), degrees.end(), std::size_t{0}) / 2;
    for (int rule = 0; rule < kOrders && best.layout.peak > best.bound; ++rule) {
        Layout layout = decoder.decode(ordered(lives.problem, degrees, rule));
        if (layout.peak < best.layout.peak) {
            best.layout = std::move(layout);
        }
    }
    return best;
}

Layout placed_in_order(const Lives &lives, const std::vector<int> &order, Where where)
{
    return LiveDecoder(lives).decode(order, where);
}

} // namespace tilewright
