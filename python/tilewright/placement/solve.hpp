// SPDX-License-Identifier: Apache-2.0
// The exact search of one pool: fits in a limit, or smallest peak with bound and proof or gap.
#pragma once

#include <cstdint>
#include <functional>

#include "problem.hpp"
#include "verdict.hpp"

namespace tilewright
{

struct Request {
    Bytes limit = kUnlimited;    // bytes that may be used
    bool minimise = true;        // else any placement within the limit will do
    std::int64_t nodes = 100000; // budget
    std::uint64_t seed = 0;
    // Descents are all as long as the first, and alike but for little noise: for long problems with
    // some slack, where few nodes beyond one for each unit suffice, or none.
    bool short_descents = false;
    // Called between restarts with peak found, bound proved and nodes spent; may throw to end the
    // search.
    std::function<void(Bytes, Bytes, std::int64_t)> progress;
};

struct Answer {
    Verdict verdict = Verdict::kBudget; // about the limit
    std::vector<Bytes> offsets;         // best found; within the limit only if the verdict is kFits
    Bytes peak = kUnlimited;
    Bytes bound = 0; // no placement needs less
    std::int64_t nodes = 0;
};

Answer solve(const Problem &problem, const Request &request);

} // namespace tilewright
