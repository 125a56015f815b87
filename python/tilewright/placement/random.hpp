// SPDX-License-Identifier: Apache-2.0
// SplitMix64 (Steele, Lea, Flood 2014): the same numbers on every machine.
#pragma once

#include <cstdint>

namespace tilewright
{

class Random
{
  public:
    explicit Random(std::uint64_t seed)
        : state_(seed * 0x9E3779B97F4A7C15ull + 0x632BE59BD9B4E019ull)
    {
    }

    std::uint64_t next()
    {
        std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
        return z ^ (z >> 31);
    }

    // In [0, 1).
    double unit()
    {
        return static_cast<double>(next() >> 11) * 0x1.0p-53;
    }

    // In [0, count).
    int below(int count)
    {
        return static_cast<int>(next() % static_cast<std::uint64_t>(count));
    }

  private:
    std::uint64_t state_;
};

} // namespace tilewright
