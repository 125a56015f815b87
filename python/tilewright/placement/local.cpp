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
        return lowest_free(u, taken_);
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

Bytes lowest_free(const Unit &unit, std::vector<Zone> &taken)
{
    std::sort(taken.begin(), taken.end(),
              [](const Zone &a, const Zone &b) { return a.low < b.low; });
    Bytes offset = align_up(unit, 0);
    for (const Zone &zone : taken) {
        if (zone.forbids(offset)) {
            offset = align_up(unit, zone.high);
        }
    }
    return offset;
}

std::vector<int> ordered(const Problem &problem, const std::vector<std::size_t> &degrees, int rule)
{
    std::vector<double> key(problem.units.size());
    for (std::size_t u = 0; u < key.size(); ++u) {
        const auto size = static_cast<double>(problem.units[u].size);
        const double degree = degrees.empty() ? 0.0 : static_cast<double>(degrees[u]);
        const double keys[kOrders] = {size, size * degree, degree + 1e-15 * size,
                                      size * (degree * degree)};
        key[u] = keys[rule];
    }
    std::vector<int> order(problem.units.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return key[a] > key[b]; });
    return order;
}

Layout best_first_fit(const Problem &problem, std::vector<int> &order)
{
    std::vector<std::size_t> degrees;
    for (const Unit &unit : problem.units) {
        degrees.push_back(unit.neighbours.size());
    }
    Layout best;
    for (int rule = 0; rule < kOrders; ++rule) {
        std::vector<int> candidate = ordered(problem, degrees, rule);
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
