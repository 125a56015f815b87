// SPDX-License-Identifier: Apache-2.0
#include "solve.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "disjunctive.hpp"
#include "local.hpp"
#include "valley.hpp"

namespace tilewright
{
namespace
{

constexpr std::int64_t kRestartNodes = 1000;
constexpr std::int64_t kRestartNodesPerUnit = 2;
constexpr int kQuietTurns = 2;
constexpr int kTurnsPerNoise = 8;
constexpr std::array<double, 2> kNoises{0.3, 1.0};
constexpr int kClimbRounds = 400;
constexpr double kShortNoise = 0.1;

// Measured on MiniMalloc's eleven instances and on generated tilings: each instance is easy for
// some of these and hard for others, so they take turns.
constexpr std::array<Strategy, 6> kPortfolio{{
    {Selector::kFailures, ValueOrder::kLength, 0.0},
    {Selector::kFailures, ValueOrder::kFit, 0.0},
    {Selector::kLowest, ValueOrder::kFit, 0.0},
    {Selector::kFailures, ValueOrder::kArea, 0.0},
    {Selector::kFailures, ValueOrder::kFit, 0.0},
    {Selector::kLowest, ValueOrder::kSizeAscending, 0.0},
}};

// 1 1 2 1 1 2 4 1 1 2 ... (Luby, Sinclair, Zuckerman 1993); i counts from 1.
std::int64_t luby(std::int64_t i)
{
    for (;;) {
        std::int64_t power = 1;
        while (power * 2 - 1 < i) {
            power *= 2;
        }
        if (power * 2 - 1 == i) {
            return power;
        }
        i -= power - 1;
    }
}

class Solver
{
  public:
    Solver(const Problem &problem, const Request &request)
        : request_(request), scaled_(scale_down(problem)),
          cover_(cover_by_cliques(scaled_.problem)), random_(request.seed),
          limit_(request.limit >= kUnlimited ? kUnlimited : request.limit / scaled_.unit)
    {
    }

    Answer run()
    {
        bound_ = lower_bound(scaled_.problem, cover_);
        std::vector<int> order;
        best_ = best_first_fit(scaled_.problem, order);
        if (bound_ > limit_) {
            return answer(Verdict::kDoesNotFit);
        }
        if (best_.peak > limit_) {
            const Verdict verdict = attempt(limit_, request_.nodes);
            if (verdict != Verdict::kFits) {
                if (verdict == Verdict::kDoesNotFit) {
                    bound_ = std::max(bound_, limit_ + 1);
                }
                return answer(verdict);
            }
        }
        if (request_.minimise) {
            minimise(std::move(order));
        }
        return answer(Verdict::kFits);
    }

  private:
    const Problem &problem() const
    {
        return scaled_.problem;
    }
    std::int64_t left() const
    {
        return request_.nodes - spent_;
    }

    // A third of the nodes for the bound itself, a third for halving the gap, the rest for the
    // bound again.
    void minimise(std::vector<int> order)
    {
        climb_bound(request_.nodes * 2 / 3);
        if (best_.peak > bound_) {
            Layout climbed =
                hill_climb(problem(), std::move(order), best_, bound_, kClimbRounds, random_);
            if (climbed.peak < best_.peak) {
                best_ = std::move(climbed);
            }
        }
        Bytes hard = bound_; // nothing was found at this capacity
        while (best_.peak - hard > 1 && left() > request_.nodes / 3) {
            const Bytes middle = hard + (best_.peak - hard) / 2;
            const std::int64_t share = std::max(request_.nodes / 12, kRestartNodes);
            if (prove(middle, share) != Verdict::kFits) {
                hard = std::max(middle, bound_);
            }
        }
        climb_bound(0);
    }

    // Proves capacity after capacity too small, until `reserve` nodes are left.
    void climb_bound(std::int64_t reserve)
    {
        while (best_.peak > bound_ && left() > reserve) {
            if (prove(bound_, left() - reserve) == Verdict::kBudget) {
                break;
            }
        }
    }

    // An attempt whose outcome moves the bound.
    Verdict prove(Bytes capacity, std::int64_t budget)
    {
        const Verdict verdict = best_.peak <= capacity ? Verdict::kFits : attempt(capacity, budget);
        if (verdict == Verdict::kDoesNotFit) {
            bound_ = std::max(bound_, capacity + 1);
        }
        return verdict;
    }

    // Restarts up to three quarters of the budget, then one long descent that may end in a proof.
    Verdict attempt(Bytes capacity, std::int64_t budget)
    {
        std::int64_t remaining = std::min(budget, left());
        std::int64_t restarts = remaining - remaining / 4;
        const std::int64_t base = std::max(kRestartNodes, kRestartNodesPerUnit * problem().count());
        for (std::int64_t turn = 1; remaining > 0; ++turn) {
            const bool last = restarts <= 0;
            const std::int64_t length = request_.short_descents ? base : base * luby(turn);
            const std::int64_t share = last ? remaining : std::min(length, restarts);
            std::int64_t used = 0;
            const Verdict verdict = descend(capacity, share, used);
            used = std::max<std::int64_t>(used, 1);
            spent_ += used;
            remaining -= used;
            restarts -= used;
            if (verdict != Verdict::kBudget || last) {
                return verdict;
            }
            if (request_.progress) {
                request_.progress(best_.peak * scaled_.unit, bound_ * scaled_.unit, spent_);
            }
        }
        return Verdict::kBudget;
    }

    Verdict descend(Bytes capacity, std::int64_t budget, std::int64_t &used)
    {
        Verdict verdict;
        const std::vector<Bytes> *offsets;
        if (layered()) {
            verdict = valley_->run(capacity, strategy(), budget, random_);
            used = valley_->nodes();
            offsets = &valley_->offsets();
        } else {
            verdict = disjunctive_->run(capacity, noise(), budget, random_);
            used = disjunctive_->nodes();
            offsets = &disjunctive_->offsets();
        }
        ++turns_;
        if (verdict == Verdict::kFits) {
            keep(*offsets);
        }
        return verdict;
    }

    [[nodiscard]] double noise() const
    {
        const auto level = static_cast<std::size_t>(turns_ / kTurnsPerNoise) % kNoises.size();
        return turns_ < kQuietTurns ? 0.0 : request_.short_descents ? kShortNoise : kNoises[level];
    }

    [[nodiscard]] Strategy strategy() const
    {
        const std::size_t turn = request_.short_descents ? 0 : static_cast<std::size_t>(turns_);
        Strategy chosen = kPortfolio[turn % kPortfolio.size()];
        chosen.noise = noise();
        return chosen;
    }

    bool layered()
    {
        if (!valley_ && !disjunctive_) {
            if (is_layered(problem())) {
                valley_.emplace(problem(), cover_);
            } else {
                disjunctive_.emplace(problem(), cover_);
            }
        }
        return valley_.has_value();
    }

    void keep(const std::vector<Bytes> &offsets)
    {
        Bytes peak = 0;
        for (int u = 0; u < problem().count(); ++u) {
            peak = std::max(peak, offsets[u] + problem().units[u].size);
        }
        if (peak < best_.peak) {
            best_ = {offsets, peak};
        }
    }

    Answer answer(Verdict verdict)
    {
        Answer found{verdict, best_.offsets, best_.peak * scaled_.unit, bound_ * scaled_.unit,
                     spent_};
        for (Bytes &offset : found.offsets) {
            offset *= scaled_.unit;
        }
        return found;
    }

    const Request &request_;
    Scaled scaled_;
    CliqueCover cover_;
    Random random_;
    Bytes limit_;
    Bytes bound_ = 0;
    Layout best_;
    std::int64_t spent_ = 0;
    int turns_ = 0;
    std::optional<ValleySearch> valley_;
    std::optional<DisjunctiveSearch> disjunctive_;
};

} // namespace

Answer solve(const Problem &problem, const Request &request)
{
    if (problem.units.empty()) {
        return {Verdict::kFits, {}, 0, 0, 0};
    }
    return Solver(problem, request).run();
}

} // namespace tilewright
