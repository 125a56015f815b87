// SPDX-License-Identifier: Apache-2.0
#include "pool.hpp"

#include <utility>

#include "joined.hpp"
#include "reinsertion.hpp"
#include "segments.hpp"

namespace tilewright
{
namespace
{

// The search over a whole problem lists its pairs and takes a bit for every two units: with more of
// either this would be hundreds of MB.
constexpr std::size_t kMostUnits = 5'000, kMostPairs = 500'000;
// Problems of fewer units are searched without joining any, and as a whole.
constexpr std::size_t kFewUnits = 500;
// Joined units get one node of so many.
constexpr std::int64_t kJoinedShare = 8;
// At least one node of so many goes into the whole problem.
constexpr std::int64_t kWholeShare = 4;

// Whether no layout is lower, and this one fits.
bool is_best(const Layout &layout, Bytes bound, const Request &request)
{
    return layout.peak == bound && bound <= request.limit;
}

Answer best_answer(Layout layout)
{
    return {Verdict::kFits, std::move(layout.offsets), layout.peak, layout.peak, 0};
}

// Every node that is spent goes into all units at once.
Answer search_whole(const Lives &lives, LiveFit quick, const Request &request)
{
    if (lives.begins.size() <= kMostUnits && quick.pairs <= kMostPairs) {
        return solve(with_pairs(lives), request);
    }
    return improve_by_reinsertion(lives, std::move(quick), request);
}

// Takes the other layout where it is lower; what is proved about the limit stays.
void keep_lower(Layout other, const Request &request, Answer &answer)
{
    if (other.peak >= answer.peak) {
        return;
    }
    answer.offsets = std::move(other.offsets);
    answer.peak = other.peak;
    answer.verdict = other.peak <= request.limit ? Verdict::kFits : answer.verdict;
}

// Segments first; the whole with the nodes that they leave.
Answer search_long(const Lives &lives, LiveFit quick, Request request)
{
    const std::int64_t all = request.nodes;
    request.nodes = all - all / kWholeShare;
    Answer cut = improve_by_segments(lives, quick, request);
    quick.layout = {cut.offsets, cut.peak};
    if (is_best(quick.layout, quick.bound, request)) {
        return cut;
    }
    request.nodes = all - cut.nodes;
    Answer answer = search_whole(lives, std::move(quick), request);
    answer.nodes += cut.nodes;
    keep_lower({std::move(cut.offsets), cut.peak}, request, answer);
    return answer;
}

Answer search_all(const Lives &lives, LiveFit quick, const Request &request)
{
    if (is_best(quick.layout, quick.bound, request)) {
        return best_answer(std::move(quick.layout));
    }
    const bool is_long = lives.begins.size() > kFewUnits;
    return is_long ? search_long(lives, std::move(quick), request)
                   : search_whole(lives, std::move(quick), request);
}

// A layout in which joined units lie as one; none where few units can be joined.
Layout fit_joined(const Lives &lives, Request request)
{
    const Joined joined = join_units(lives);
    if (joined.lives.begins.size() > lives.begins.size() / 2) {
        return {};
    }
    request.nodes /= kJoinedShare;
    const Answer found = search_all(joined.lives, first_fit_by_lives(joined.lives), request);
    return {joined.apart(found.offsets), found.peak};
}

} // namespace

Answer search_pool(const Lives &lives, const Request &request)
{
    const std::size_t count = lives.begins.size();
    LiveFit quick = first_fit_by_lives(lives);
    Layout joined;
    if (count > kFewUnits && !is_best(quick.layout, quick.bound, request)) {
        joined = fit_joined(lives, request);
    }
    if (is_best(joined, quick.bound, request)) {
        return best_answer(std::move(joined));
    }
    Answer answer = search_all(lives, std::move(quick), request);
    keep_lower(std::move(joined), request, answer);
    return answer;
}

} // namespace tilewright
