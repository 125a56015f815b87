// SPDX-License-Identifier: Apache-2.0
#include "local.hpp"

#include <algorithm>
#include <numeric>

namespace tilewright
{
namespace
{

class Decoder
{
  public:
    explicit Decoder(const Problem &problem) : problem_(problem)
    {
    }

    const Layout &decode(const std::vector<int> &order)
    {
        const std::size_t n = problem_.units.size();
        layout_.offsets.assign(n, -1);
        layout_.peak = 0;
        for (std::size_t u = 0; u < n; ++u) {
            if (problem_.units[u].fixed >= 0) {
                put(static_cast<int>(u), problem_.units[u].fixed);
            }
        }
        for (int u : order) {
            if (problem_.units[u].fixed < 0) {
                put(u, lowest(u));
            }
        }
        return layout_;
    }

  private:
    void put(int unit, Bytes offset)
    {
        layout_.offsets[unit] = offset;
        layout_.peak = std::max(layout_.peak, offset + problem_.units[unit].size);
    }

    Bytes lowest(int unit)
    {
        const Unit &u = problem_.units[unit];
        taken_.clear();
        for (const Neighbour &neighbour : u.neighbours) {
            const Bytes at = layout_.offsets[neighbour.unit];
            if (at >= 0) {
                for (const Zone &zone : neighbour.zones) {
                    taken_.push_back({at + zone.low, at + zone.high});
                }
            }
        }
        std::sort(taken_.begin(), taken_.end(),
                  [](const Zone &a, const Zone &b) { return a.low < b.low; });
        Bytes offset = align_up(u, 0);
        for (const Zone &zone : taken_) {
            if (zone.low < offset && offset < zone.high) {
                offset = align_up(u, zone.high);
            }
        }
        return offset;
    }

    const Problem &problem_;
    Layout layout_;
    std::vector<Zone> taken_;
};

} // namespace

Layout first_fit(const Problem &problem, const std::vector<int> &order)
{
    return Decoder(problem).decode(order);
}

Layout best_first_fit(const Problem &problem, std::vector<int> &order)
{
    const auto size = [&](int u) { return static_cast<double>(problem.units[u].size); };
    const auto degree = [&](int u) {
        return static_cast<double>(problem.units[u].neighbours.size());
    };
    Layout best;
    for (int rule = 0; rule < 4; ++rule) {
        std::vector<double> key(problem.units.size());
        for (int u = 0; u < problem.count(); ++u) {
            const double keys[] = {size(u), size(u) * degree(u), degree(u) + 1e-15 * size(u),
                                   size(u) * (degree(u) * degree(u))};
            key[u] = keys[rule];
        }
        std::vector<int> candidate(problem.units.size());
        std::iota(candidate.begin(), candidate.end(), 0);
        std::stable_sort(candidate.begin(), candidate.end(),
                         [&](int a, int b) { return key[a] > key[b]; });
        Layout layout = first_fit(problem, candidate);
        if (layout.peak < best.peak) {
            best = std::move(layout);
            order = std::move(candidate);
        }
    }
    return best;
}

Layout hill_climb(const Problem &problem, std::vector<int> order, Layout start, Bytes goal,
                  int rounds, Random &random)
{
    Decoder decoder(problem);
    Layout best = start;
    Layout current = std::move(start);
    const int n = problem.count();
    std::vector<int> position(n), high, before;
    for (int round = 0; round < rounds && best.peak > goal && n > 1; ++round) {
        for (int i = 0; i < n; ++i) {
            position[order[i]] = i;
        }
        high.clear();
        for (int u = 0; u < n; ++u) {
            if (problem.units[u].fixed < 0 &&
                current.offsets[u] + problem.units[u].size == current.peak) {
                high.push_back(u);
            }
        }
        if (high.empty()) {
            break;
        }
        int mover = high[random.below(static_cast<int>(high.size()))];
        if (random.below(4) == 0 && !problem.units[mover].neighbours.empty()) {
            const auto &around = problem.units[mover].neighbours;
            mover = around[random.below(static_cast<int>(around.size()))].unit;
        }
        before.clear();
        for (const Neighbour &neighbour : problem.units[mover].neighbours) {
            if (position[neighbour.unit] < position[mover]) {
                before.push_back(neighbour.unit);
            }
        }
        const int target = before.empty()
                               ? random.below(n)
                               : position[before[random.below(static_cast<int>(before.size()))]];
        std::vector<int> next = order;
        if (target <= position[mover]) {
            std::rotate(next.begin() + target, next.begin() + position[mover],
                        next.begin() + position[mover] + 1);
        } else {
            std::rotate(next.begin() + position[mover], next.begin() + position[mover] + 1,
                        next.begin() + target + 1);
        }
        const Layout &found = decoder.decode(next);
        const bool worse = found.peak > current.peak;
        const double excess =
            static_cast<double>(found.peak - current.peak) / static_cast<double>(current.peak + 1);
        if (!worse || random.unit() < 0.3 * (1.0 - static_cast<double>(round) / rounds) *
                                          std::max(0.0, 1.0 - 25.0 * excess)) {
            order = std::move(next);
            current = found;
            if (current.peak < best.peak) {
                best = current;
            }
        }
    }
    return best;
}

} // namespace tilewright
