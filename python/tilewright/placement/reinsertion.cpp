// SPDX-License-Identifier: Apache-2.0
#include "reinsertion.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "neighbours.hpp"
#include "random.hpp"

namespace tilewright
{
namespace
{

// Neighbours that are looked at for one node of the budget. To list a neighbour, or to sort one into
// the others, takes as long as so many looks.
constexpr std::int64_t kLooksPerNode = 1'400, kLooksPerListed = 16, kLooksPerSorted = 8;
constexpr std::int64_t kStepsPerProgress = 1'000;
// Targets between the goal and the peak, in eighths of their distance: the second one once the first
// was not reached.
constexpr std::array<Bytes, 2> kEighths{4, 7};
constexpr std::int64_t kFixedWeight = std::int64_t{1} << 40;

Bytes align_down(const Unit &unit, Bytes offset)
{
    const Bytes up = align_up(unit, offset);
    return up == offset ? up : up - unit.modulus;
}

// Offsets that a unit must not have, between two limits, and the weight of the unit in the way.
struct Obstacle {
    Zone zone;
    int unit;
};

// Where a unit lies; -1 and -1 while it is out.
struct Span {
    Bytes from, to;
};
constexpr Span kOut{-1, -1};

// Where the unit ends up and which weight has to make room for it.
struct Place {
    Bytes offset = -1;
    std::int64_t weight = kFixedWeight;
    int ties = 0;
};

class Reinsertion
{
  public:
    Reinsertion(const Lives &lives, LiveFit start, const Request &request)
        : lives_(lives), request_(request), neighbours_(lives), random_(request.seed),
          best_(std::move(start.layout)), bound_(start.bound),
          goal_(request.minimise ? start.bound : std::max(start.bound, request.limit)),
          by_size_(ordered(lives.problem, {}, 0))
    {
    }

    Answer run()
    {
        if (bound_ > request_.limit) {
            return answer(Verdict::kDoesNotFit);
        }
        if (best_.peak > goal_) {
            reach(goal_, request_.nodes / 16);
        }
        for (std::size_t step = 0; best_.peak > goal_ && left() > 0 && step < kEighths.size();) {
            const Bytes target = goal_ + (best_.peak - 1 - goal_) * kEighths[step] / 8;
            if (!reach(target, left() * 2 / 3 + 1)) {
                ++step;
            }
        }
        return answer(best_.peak <= request_.limit ? Verdict::kFits : Verdict::kBudget);
    }

  private:
    [[nodiscard]] const Unit &unit(int u) const
    {
        return lives_.problem.units[u];
    }
    [[nodiscard]] bool is_out(int u) const
    {
        return spans_[u].from < 0;
    }
    void put(int u, Bytes offset)
    {
        spans_[u] = {offset, offset + unit(u).size};
    }
    [[nodiscard]] std::int64_t left() const
    {
        return request_.nodes - looks_ / kLooksPerNode;
    }

    // Whether a layout whose peak is at most the target was found with so many nodes; it is the
    // best one then.
    bool reach(Bytes target, std::int64_t nodes)
    {
        const std::int64_t reserve = std::max<std::int64_t>(0, left() - nodes);
        weights_.assign(best_.offsets.size(), 1);
        target_ = target;
        out_.clear();
        rests_.assign(best_.offsets.size(), -1);
        hangs_.assign(best_.offsets.size(), -1);
        if (!put_first(reserve)) {
            return false;
        }
        for (std::int64_t step = 0; !out_.empty(); ++step) {
            if (left() <= reserve || !put_in(next())) {
                return false;
            }
            if (request_.progress && step % kStepsPerProgress == 0) {
                request_.progress(best_.peak, bound_, request_.nodes - left());
            }
        }
        best_.peak = 0;
        for (int u = 0; u < lives_.problem.count(); ++u) {
            best_.offsets[u] = spans_[u].from;
            best_.peak = std::max(best_.peak, spans_[u].to);
        }
        return true;
    }

    // First fit by size; units without room below the target are out.
    bool put_first(std::int64_t reserve)
    {
        spans_.assign(best_.offsets.size(), kOut);
        for (int u = 0; u < lives_.problem.count(); ++u) {
            if (unit(u).size > target_ || unit(u).fixed + unit(u).size > target_) {
                return false;
            }
            if (unit(u).fixed >= 0) {
                put(u, unit(u).fixed);
            }
        }
        for (int u : by_size_) {
            if (is_out(u) && !put_lowest(u)) {
                out_.push_back(u);
            }
            if (left() < reserve) {
                return false;
            }
        }
        return true;
    }

    void take_out(int u)
    {
        spans_[u] = kOut;
        out_.push_back(u);
    }

    // Of two units that are out, the one of more bytes times ticks.
    int next()
    {
        const auto area = [&](std::size_t i) {
            const int u = out_[i];
            return static_cast<double>(unit(u).size) *
                   static_cast<double>(lives_.ends[u] - lives_.begins[u]);
        };
        const int count = static_cast<int>(out_.size());
        auto chosen = static_cast<std::size_t>(random_.below(count));
        const auto other = static_cast<std::size_t>(random_.below(count));
        chosen = area(other) > area(chosen) ? other : chosen;
        const int u = out_[chosen];
        out_[chosen] = out_.back();
        out_.pop_back();
        return u;
    }

    // False if only fixed units could make room.
    bool put_in(int u)
    {
        if (put_lowest(u)) {
            return true;
        }
        part(static_cast<Bytes>(random_.unit() * static_cast<double>(target_)));
        if (put_lowest(u)) {
            return true;
        }
        ++weights_[u];
        const Place place = lightest(u);
        if (place.weight >= kFixedWeight) {
            return false;
        }
        for (const Obstacle &obstacle : obstacles_) {
            if (obstacle.zone.forbids(place.offset) && !is_out(obstacle.unit)) {
                take_out(obstacle.unit);
            }
        }
        put(u, place.offset);
        return true;
    }

    bool put_lowest(int u)
    {
        list_obstacles(u);
        Bytes offset = align_up(unit(u), 0);
        for (const auto &[zone, other] : obstacles_) {
            if (zone.forbids(offset)) {
                offset = align_up(unit(u), zone.high);
            }
        }
        if (offset + unit(u).size > target_) {
            return false;
        }
        put(u, offset);
        return true;
    }

    // Ascending by the low end of their zones.
    void list_obstacles(int u)
    {
        obstacles_.clear();
        const Bytes size = unit(u).size;
        for (int other : look_around(u)) {
            if (!is_out(other)) {
                obstacles_.push_back({{spans_[other].from - size, spans_[other].to}, other});
            }
        }
        if (neighbours_.has_zones(u)) {
            list_zones(u);
        }
        looks_ += kLooksPerSorted * static_cast<std::int64_t>(obstacles_.size());
        std::sort(obstacles_.begin(), obstacles_.end(), [](const Obstacle &a, const Obstacle &b) {
            return std::pair(a.zone.low, a.unit) < std::pair(b.zone.low, b.unit);
        });
    }

    void list_zones(int u)
    {
        for (const Neighbour &neighbour : unit(u).neighbours) {
            const Bytes at = spans_[neighbour.unit].from;
            if (at < 0 || shares_nothing(lives_.problem, u, neighbour)) {
                continue;
            }
            for (const Zone &zone : neighbour.zones) {
                obstacles_.push_back({{at + zone.low, at + zone.high}, neighbour.unit});
            }
        }
    }

    std::span<const int> look_around(int u)
    {
        const std::int64_t each = neighbours_.is_kept(u) ? 1 : kLooksPerListed;
        const std::span<const int> others = neighbours_.of(u);
        looks_ += each * static_cast<std::int64_t>(others.size() + 1);
        return others;
    }

    // Moves the obstacles of a unit: down as far as they go below the level, up above.
    void part(Bytes level)
    {
        moved_.clear();
        for (const auto &[zone, other] : obstacles_) {
            if (unit(other).fixed < 0 && unit(other).size > 0 && !neighbours_.has_zones(other)) {
                moved_.push_back(other);
            }
        }
        const auto above = std::partition_point(moved_.begin(), moved_.end(), [&](int v) {
            return spans_[v].from < level;
        });
        std::for_each(moved_.begin(), above, [&](int v) { move_down(v); });
        std::for_each(moved_.rbegin(), std::make_reverse_iterator(above),
                      [&](int v) { move_up(v); });
    }

    void move_down(int u)
    {
        const Bytes at = spans_[u].from;
        const int rests = rests_[u];
        if (rests >= 0 && !is_out(rests) && align_up(unit(u), spans_[rests].to) == at) {
            return;
        }
        Bytes low = 0;
        int under = -1;
        for (int other : look_around(u)) {
            const Span span = spans_[other];
            const bool is_higher = span.from <= at && span.to > low;
            low = is_higher ? span.to : low;
            under = is_higher ? other : under;
        }
        rests_[u] = under;
        put(u, std::min(at, align_up(unit(u), low)));
    }

    void move_up(int u)
    {
        const Bytes at = spans_[u].from, size = unit(u).size;
        const int hangs = hangs_[u];
        if (hangs >= 0 && align_down(unit(u), spans_[hangs].from - size) == at) {
            return;
        }
        Bytes high = target_;
        int above = -1;
        for (int other : look_around(u)) {
            const Bytes from = spans_[other].from;
            const bool is_lower = from >= at && from < high;
            high = is_lower ? from : high;
            above = is_lower ? other : above;
        }
        hangs_[u] = above;
        put(u, std::max(at, align_down(unit(u), high - size)));
    }

    // The offset at which the listed obstacles of the unit weigh least: the lowest one, or one just
    // behind or before an obstacle.
    Place lightest(int u)
    {
        const Unit &own = unit(u);
        std::vector<Bytes> behind{align_up(own, 0)}, before;
        ends_.clear();
        for (const auto &[zone, other] : obstacles_) {
            ends_.emplace_back(zone.high, weight(other));
            before.push_back(align_down(own, zone.low));
        }
        std::sort(ends_.begin(), ends_.end());
        for (const auto &[high, weight] : ends_) {
            behind.push_back(align_up(own, std::max<Bytes>(0, high)));
        }
        Place best;
        lighter(behind, own.size, best);
        lighter(before, own.size, best);
        return best;
    }

    // `candidates` ascend, as obstacles and their ends do.
    void lighter(const std::vector<Bytes> &candidates, Bytes size, Place &best)
    {
        std::int64_t sum = 0;
        auto begin = obstacles_.begin();
        auto end = ends_.begin();
        for (Bytes at : candidates) {
            for (; begin != obstacles_.end() && begin->zone.low < at; ++begin) {
                sum += weight(begin->unit);
            }
            for (; end != ends_.end() && end->first <= at; ++end) {
                sum -= end->second;
            }
            if (at < 0 || at + size > target_ || sum > best.weight) {
                continue;
            }
            best.ties = sum < best.weight ? 1 : best.ties + 1;
            if (random_.below(best.ties) == 0) {
                best.offset = at;
            }
            best.weight = sum;
        }
    }

    [[nodiscard]] std::int64_t weight(int u) const
    {
        return unit(u).fixed < 0 ? weights_[u] : kFixedWeight;
    }

    Answer answer(Verdict verdict)
    {
        return {verdict, best_.offsets, best_.peak, bound_, request_.nodes - left()};
    }

    const Lives &lives_;
    const Request &request_;
    Neighbours neighbours_;
    Random random_;
    Layout best_;
    Bytes bound_, goal_, target_ = 0;
    std::int64_t looks_ = 0;
    std::vector<Span> spans_;
    std::vector<std::int64_t> weights_;
    std::vector<int> by_size_, out_, moved_;
    std::vector<int> rests_, hangs_; // the unit below or above that stopped a unit, or -1
    std::vector<Obstacle> obstacles_;
    std::vector<std::pair<Bytes, std::int64_t>> ends_; // of obstacles, with their weights, ascending
};

} // namespace

Answer improve_by_reinsertion(const Lives &lives, LiveFit start, const Request &request)
{
    return Reinsertion(lives, std::move(start), request).run();
}

} // namespace tilewright
