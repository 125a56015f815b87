// SPDX-License-Identifier: Apache-2.0
// The problem of one pool as the exact search sees it. All quantities are 64-bit bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace tilewright
{

using Bytes = std::int64_t;
constexpr Bytes kUnlimited = std::numeric_limits<Bytes>::max() / 4;

// offset(u) - offset(v) may not lie strictly between low and high.
struct Zone {
    Bytes low;
    Bytes high;

    [[nodiscard]] bool forbids(Bytes difference) const
    {
        return low < difference && difference < high;
    }
};

// The zones of a pair. Most pairs have one, and there are many pairs, so one zone needs no memory
// of its own.
class Zones
{
  public:
    Zones() = default;
    explicit Zones(Zone zone) : one_(zone), count_(1)
    {
    }

    void push_back(Zone zone)
    {
        if (count_ == 0) {
            one_ = zone;
        } else {
            if (count_ == 1) {
                many_.assign(1, one_);
            }
            many_.push_back(zone);
        }
        ++count_;
    }
    // The same zones of the opposite difference.
    [[nodiscard]] Zones mirrored() const
    {
        Zones mirror;
        for (std::size_t i = count_; i > 0; --i) {
            mirror.push_back({-(*this)[i - 1].high, -(*this)[i - 1].low});
        }
        return mirror;
    }
    [[nodiscard]] std::size_t size() const
    {
        return count_;
    }
    [[nodiscard]] const Zone *begin() const
    {
        return count_ > 1 ? many_.data() : &one_;
    }
    [[nodiscard]] const Zone *end() const
    {
        return begin() + count_;
    }
    [[nodiscard]] Zone *begin()
    {
        return count_ > 1 ? many_.data() : &one_;
    }
    [[nodiscard]] Zone *end()
    {
        return begin() + count_;
    }
    [[nodiscard]] const Zone &front() const
    {
        return *begin();
    }
    [[nodiscard]] const Zone &operator[](std::size_t i) const
    {
        return begin()[i];
    }

  private:
    Zone one_{0, 0};
    std::vector<Zone> many_;
    std::size_t count_ = 0;
};

// A neighbour with the zones of the difference offset(this) - offset(unit), sorted.
struct Neighbour {
    int unit;
    Zones zones;
};

struct Unit {
    Bytes size = 0;
    Bytes modulus = 1;
    Bytes residue = 0;
    Bytes fixed = -1; // offset given from outside, -1 when free
    std::vector<Neighbour> neighbours;
};

struct Problem {
    std::vector<Unit> units;
    std::vector<Bytes> begins; // ticks at which the units' lives begin; empty where none are known

    [[nodiscard]] int count() const
    {
        return static_cast<int>(units.size());
    }
};

// Makes u and v neighbours; `zones` are those of offset(u) - offset(v).
inline void join(int u, int v, Zones zones, Problem &problem)
{
    problem.units[v].neighbours.push_back({u, zones.mirrored()});
    problem.units[u].neighbours.push_back({v, std::move(zones)});
}

inline Bytes align_up(const Unit &unit, Bytes offset)
{
    if (unit.modulus == 1) {
        return offset;
    }
    const Bytes rest = (unit.residue - offset) % unit.modulus;
    return offset + (rest < 0 ? rest + unit.modulus : rest);
}

// A number of which all offsets are multiples, so bytes up to the next multiple behind a unit are
// lost unless the unit is the topmost. 1 where units are fixed.
Bytes common_grain(const Problem &problem);

inline Bytes round_up(Bytes value, Bytes grain)
{
    return (value + grain - 1) / grain * grain;
}

// Both units are free of each other's bytes wherever they are.
inline bool is_disjoint(const Problem &problem, int u, const Neighbour &neighbour)
{
    const Zone &zone = neighbour.zones.front();
    return zone.low <= -problem.units[u].size && zone.high >= problem.units[neighbour.unit].size;
}

// The units are free of each other's bytes wherever they are, and nothing else is asked of them.
inline bool shares_nothing(const Problem &problem, int u, const Neighbour &neighbour)
{
    const Zone &zone = neighbour.zones.front();
    return neighbour.zones.size() == 1 && zone.low == -problem.units[u].size &&
           zone.high == problem.units[neighbour.unit].size;
}

// The same problem in units of the greatest common divisor of all its distances.
struct Scaled {
    Problem problem;
    Bytes unit = 1;
};
Scaled scale_down(const Problem &problem);

} // namespace tilewright
