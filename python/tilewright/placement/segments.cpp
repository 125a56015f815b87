// SPDX-License-Identifier: Apache-2.0
#include "segments.hpp"

#include <algorithm>
#include <utility>

namespace tilewright
{
namespace
{

// Units that begin in a segment, about; the most units and pairs that one is searched with.
constexpr std::size_t kUnits = 500, kMostUnits = 3'000, kMostPairs = 300'000;
// Nodes of the first search in a segment below a target; each failure doubles them, of which there
// may be so many.
constexpr std::int64_t kSegmentNodes = 20'000;
constexpr int kMostFailures = 1;
// A node of such a search takes as long as about five of the budget. It counts as two, with which
// ten thousand units of like sizes end less than a hundredth above their bound. Listing 500 pairs
// counts as one.
constexpr std::int64_t kNodesPerNode = 2;
constexpr std::size_t kPairsPerNode = 500;
// Units that are looked at for a node, to find those of a segment.
constexpr std::size_t kUnitsPerNode = 700;
// The first target is so far above the goal as the peak, divided by this; after a failure, targets
// halve what lies between the last failure and the peak, until that is so small a part of the goal.
constexpr Bytes kFirstShare = 8, kFinest = 1'000;
// A target leaves at least one node of so many to the targets behind it.
constexpr std::int64_t kLaterShare = 5;

// Consecutive positions; `bytes` is the most that is alive at one of them.
struct Segment {
    std::size_t begin, end;
    Bytes bytes = 0;
    int failures = 0; // below all targets
    int tries = 0;    // of them below this target
    bool is_solved = false;
};

// The half-open range of positions, or of segments, that a unit lives in.
struct Range {
    std::size_t begin, end;
};

bool conflicts_by_lifetimes(const Lives &lives)
{
    const auto &units = lives.problem.units;
    for (std::size_t u = 0; u < units.size(); ++u) {
        if (!units[u].neighbours.empty() || lives.begins[u] >= lives.ends[u]) {
            return false;
        }
    }
    return lives.pairs.empty() && lives.free.empty();
}

class Segments
{
  public:
    Segments(const Lives &lives, LiveFit start, const Request &request)
        : lives_(lives), request_(request), best_(std::move(start.layout)), bound_(start.bound),
          goal_(request.minimise ? start.bound : std::max(start.bound, request.limit)),
          left_(request.nodes)
    {
        find_positions();
        count_alive();
        cut();
        find_bytes();
        find_segments();
    }

    Answer run()
    {
        Bytes hard = goal_; // nothing was found at this target, once one has failed
        Bytes share = kFirstShare;
        const auto is_fine = [&] {
            return share != kFirstShare &&
                   best_.peak - hard < std::max<Bytes>(2, goal_ / kFinest);
        };
        while (best_.peak > goal_ && left_ > 0 && !is_fine()) {
            const Bytes target = hard + (best_.peak - 1 - hard) / share;
            if (!reach(target, left_ / kLaterShare)) {
                hard = target;
                share = 2;
            }
        }
        const Verdict verdict = best_.peak <= request_.limit ? Verdict::kFits : Verdict::kBudget;
        return {verdict, best_.offsets, best_.peak, bound_, request_.nodes - left_};
    }

  private:
    [[nodiscard]] const Unit &unit(std::size_t u) const
    {
        return lives_.problem.units[u];
    }

    // Ticks at which a unit begins, in order, are positions: two units live at one time if and only
    // if they live at one position.
    void find_positions()
    {
        std::vector<Bytes> ticks(lives_.begins);
        std::sort(ticks.begin(), ticks.end());
        ticks.erase(std::unique(ticks.begin(), ticks.end()), ticks.end());
        const auto position = [&](Bytes tick) {
            return static_cast<std::size_t>(std::lower_bound(ticks.begin(), ticks.end(), tick) -
                                            ticks.begin());
        };
        for (std::size_t u = 0; u < lives_.begins.size(); ++u) {
            lives_at_.push_back({position(lives_.begins[u]), position(lives_.ends[u])});
        }
        positions_ = ticks.size();
    }

    // Bytes that are alive at each position, and how many units begin there.
    void count_alive()
    {
        alive_.assign(positions_ + 1, 0);
        begun_.assign(positions_ + 1, 0);
        for (std::size_t u = 0; u < lives_at_.size(); ++u) {
            alive_[lives_at_[u].begin] += unit(u).size;
            alive_[lives_at_[u].end] -= unit(u).size;
            ++begun_[lives_at_[u].begin];
        }
        for (std::size_t p = 1; p <= positions_; ++p) {
            alive_[p] += alive_[p - 1];
        }
    }

    // For each position the bytes that are alive at it and around, for half of a unit's mean life.
    [[nodiscard]] std::vector<Bytes> bytes_around() const
    {
        std::size_t lives = 0;
        for (const Range &range : lives_at_) {
            lives += range.end - range.begin;
        }
        const std::size_t reach = lives / lives_at_.size() / 2;
        std::vector<Bytes> sums(1, 0), around;
        for (std::size_t p = 0; p < positions_; ++p) {
            sums.push_back(sums.back() + alive_[p]);
        }
        for (std::size_t p = 0; p < positions_; ++p) {
            const std::size_t low = p - std::min(p, reach);
            const std::size_t high = std::min(positions_, p + reach + 1);
            around.push_back((sums[high] - sums[low]) / static_cast<Bytes>(high - low));
        }
        return around;
    }

    // A segment ends where least is alive around, behind half as many units as kUnits and before
    // half as many more.
    void cut()
    {
        const std::vector<Bytes> around = bytes_around();
        std::size_t begin = 0, lowest = 0, units = 0;
        for (std::size_t p = 0; p < positions_; ++p) {
            if (units >= kUnits / 2 && (lowest == begin || around[p] < around[lowest])) {
                lowest = p;
            }
            units += begun_[p];
            if (units >= kUnits + kUnits / 2 && lowest > begin) {
                segments_.push_back({begin, lowest});
                begin = p = lowest;
                units = begun_[p];
            }
        }
        segments_.push_back({begin, positions_});
    }

    // The most bytes that are alive at one position of each segment.
    void find_bytes()
    {
        for (Segment &segment : segments_) {
            for (std::size_t p = segment.begin; p < segment.end; ++p) {
                segment.bytes = std::max(segment.bytes, alive_[p]);
            }
        }
    }

    // The segments that each unit lives in.
    void find_segments()
    {
        const auto segment_of = [&](std::size_t position) {
            const auto after = std::partition_point(
                segments_.begin(), segments_.end(),
                [&](const Segment &segment) { return segment.end <= position; });
            return static_cast<std::size_t>(after - segments_.begin());
        };
        for (const Range &range : lives_at_) {
            lives_in_.push_back({segment_of(range.begin), segment_of(range.end - 1) + 1});
        }
    }

    // Whether a layout whose peak is at most the target was found, with `reserve` nodes left; it is
    // the best one then.
    bool reach(Bytes target, std::int64_t reserve)
    {
        offsets_.clear();
        for (const Unit &each : lives_.problem.units) {
            offsets_.push_back(each.fixed);
        }
        for (Segment &segment : segments_) {
            segment.tries = 0;
            segment.is_solved = false;
        }
        for (int s = next(); s >= 0; s = next()) {
            Segment &segment = segments_[s];
            segment.is_solved = left_ > reserve && solve_in(s, target);
            if (segment.is_solved) {
                continue;
            }
            ++segment.failures;
            if (left_ <= reserve || ++segment.tries > kMostFailures) {
                return false;
            }
            free_around(s);
        }
        best_.offsets = offsets_;
        best_.peak = 0;
        for (std::size_t u = 0; u < offsets_.size(); ++u) {
            best_.peak = std::max(best_.peak, offsets_[u] + unit(u).size);
        }
        return true;
    }

    // The segment to be solved next, -1 if all are: the one that failed most often, of these the
    // fullest.
    [[nodiscard]] int next() const
    {
        int found = -1;
        for (int s = 0; s < static_cast<int>(segments_.size()); ++s) {
            const auto urgency = [&](int i) {
                return std::pair(segments_[i].failures, segments_[i].bytes);
            };
            if (!segments_[s].is_solved && (found < 0 || urgency(s) > urgency(found))) {
                found = s;
            }
        }
        return found;
    }

    // Places the units of a segment that are out, beside all those placed ones that live with them.
    bool solve_in(int s, Bytes target)
    {
        const auto own = static_cast<std::size_t>(s);
        const auto is_out = [&](std::size_t u) {
            return offsets_[u] < 0 && lives_in_[u].begin <= own && own < lives_in_[u].end;
        };
        Range whole{segments_[s].begin, segments_[s].end};
        for (std::size_t u = 0; u < offsets_.size(); ++u) {
            if (is_out(u)) {
                whole.begin = std::min(whole.begin, lives_at_[u].begin);
                whole.end = std::max(whole.end, lives_at_[u].end);
            }
        }
        const auto is_beside = [&](std::size_t u) {
            return offsets_[u] >= 0 && lives_at_[u].begin < whole.end &&
                   whole.begin < lives_at_[u].end;
        };
        std::vector<std::size_t> units;
        Lives part;
        for (std::size_t u = 0; u < offsets_.size(); ++u) {
            if (is_out(u) || is_beside(u)) {
                units.push_back(u);
                part.problem.units.push_back(unit(u));
                part.problem.units.back().fixed = offsets_[u];
                part.begins.push_back(lives_.begins[u]);
                part.ends.push_back(lives_.ends[u]);
            }
        }
        return place(units, part, target, kSegmentNodes << segments_[s].tries);
    }

    bool place(const std::vector<std::size_t> &units, const Lives &part, Bytes target,
               std::int64_t nodes)
    {
        const LiveFit quick = first_fit_by_lives(part);
        if (units.size() > kMostUnits || quick.pairs > kMostPairs) {
            left_ = 0;
            return false;
        }
        left_ -= static_cast<std::int64_t>(quick.pairs / kPairsPerNode +
                                           offsets_.size() / kUnitsPerNode);
        const bool is_quick = quick.layout.peak <= target;
        const std::vector<Bytes> found =
            is_quick ? quick.layout.offsets : search(part, target, nodes);
        for (std::size_t i = 0; i < found.size(); ++i) {
            offsets_[units[i]] = found[i];
        }
        return !found.empty();
    }

    // Offsets below the target, none if there was no answer.
    std::vector<Bytes> search(const Lives &part, Bytes target, std::int64_t nodes)
    {
        Request request = request_;
        request.minimise = false;
        request.short_descents = true;
        request.limit = target;
        request.nodes = std::max<std::int64_t>(1, std::min(nodes, left_ / kNodesPerNode));
        request.progress = {};
        Answer found = solve(with_pairs(part), request);
        left_ -= found.nodes * kNodesPerNode;
        if (request_.progress) {
            request_.progress(best_.peak, bound_, request_.nodes - left_);
        }
        return found.verdict == Verdict::kFits ? std::move(found.offsets) : std::vector<Bytes>{};
    }

    // Takes out the units that live in this segment and its neighbours alone, or in others that are
    // not solved.
    void free_around(int s)
    {
        const int last = std::min(s + 1, static_cast<int>(segments_.size()) - 1);
        for (int i = std::max(s - 1, 0); i <= last; ++i) {
            segments_[i].is_solved = false;
        }
        for (std::size_t u = 0; u < offsets_.size(); ++u) {
            const auto begin = segments_.begin() + static_cast<std::ptrdiff_t>(lives_in_[u].begin);
            const auto end = segments_.begin() + static_cast<std::ptrdiff_t>(lives_in_[u].end);
            if (std::none_of(begin, end, [](const Segment &each) { return each.is_solved; })) {
                offsets_[u] = unit(u).fixed;
            }
        }
    }

    const Lives &lives_;
    const Request &request_;
    Layout best_;
    Bytes bound_, goal_;
    std::int64_t left_;
    std::size_t positions_ = 0;
    std::vector<Range> lives_at_, lives_in_; // unit -> positions and segments
    std::vector<Bytes> alive_;               // position -> bytes
    std::vector<std::size_t> begun_;         // position -> units that begin there
    std::vector<Segment> segments_;
    std::vector<Bytes> offsets_; // -1 for units that are not placed
};

} // namespace

Answer improve_by_segments(const Lives &lives, LiveFit start, const Request &request)
{
    if (!conflicts_by_lifetimes(lives) || start.bound > request.limit) {
        return {Verdict::kBudget, std::move(start.layout.offsets), start.layout.peak, start.bound,
                0};
    }
    return Segments(lives, std::move(start), request).run();
}

} // namespace tilewright
