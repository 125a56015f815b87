// SPDX-License-Identifier: Apache-2.0
#include "cliques.hpp"

#include <algorithm>
#include <numeric>

namespace tilewright
{
namespace
{

using Graph = std::vector<std::vector<int>>; // neighbours ascending

class Adjacency
{
  public:
    explicit Adjacency(const Graph &graph)
        : words_((graph.size() + 63) / 64), bits_(graph.size() * words_, 0)
    {
        for (std::size_t u = 0; u < graph.size(); ++u) {
            for (int v : graph[u]) {
                bits_[u * words_ + static_cast<std::size_t>(v) / 64] |= std::uint64_t{1}
                                                                        << (v % 64);
            }
        }
    }
    [[nodiscard]] bool has(int u, int v) const
    {
        return bits_[static_cast<std::size_t>(u) * words_ + static_cast<std::size_t>(v) / 64] >>
                   (v % 64) &
               1;
    }

  private:
    std::size_t words_;
    std::vector<std::uint64_t> bits_;
};

Graph disjoint_graph(const Problem &problem)
{
    Graph graph(problem.units.size());
    for (int u = 0; u < problem.count(); ++u) {
        for (const Neighbour &neighbour : problem.units[u].neighbours) {
            if (is_disjoint(problem, u, neighbour)) {
                graph[u].push_back(neighbour.unit);
            }
        }
        std::sort(graph[u].begin(), graph[u].end());
    }
    return graph;
}

std::vector<int> search_order(const Graph &graph)
{
    const int n = static_cast<int>(graph.size());
    std::vector<int> weight(n, 0), order;
    std::vector<char> visited(n, 0);
    for (int step = 0; step < n; ++step) {
        int best = -1;
        for (int u = 0; u < n; ++u) {
            if (!visited[u] && (best < 0 || weight[u] > weight[best])) {
                best = u;
            }
        }
        visited[best] = 1;
        order.push_back(best);
        for (int v : graph[best]) {
            ++weight[v];
        }
    }
    return order;
}

// Fills cover and returns true if the visiting order proves the graph chordal.
bool chordal_cover(const Graph &graph, const Adjacency &adjacent, const std::vector<int> &order,
                   CliqueCover &cover)
{
    const int n = static_cast<int>(graph.size());
    std::vector<int> position(n), clique_of(n, -1);
    for (int i = 0; i < n; ++i) {
        position[order[i]] = i;
    }
    std::size_t previous = 0;
    for (int i = 0; i < n; ++i) {
        const int u = order[i];
        std::vector<int> earlier;
        for (int v : graph[u]) {
            if (position[v] < i) {
                earlier.push_back(v);
            }
        }
        int parent = -1;
        for (int v : earlier) {
            if (parent < 0 || position[v] > position[parent]) {
                parent = v;
            }
        }
        for (int v : earlier) {
            if (v != parent && !adjacent.has(v, parent)) {
                return false;
            }
        }
        const bool grows = i > 0 && earlier.size() > previous;
        if (!grows) {
            if (parent >= 0) {
                cover.tree.emplace_back(clique_of[parent], static_cast<int>(cover.cliques.size()));
            }
            cover.cliques.push_back(earlier);
        }
        cover.cliques.back().push_back(u);
        clique_of[u] = static_cast<int>(cover.cliques.size()) - 1;
        previous = earlier.size();
    }
    return true;
}

void greedy_cover(const Problem &problem, const Graph &graph, const Adjacency &adjacent,
                  CliqueCover &cover)
{
    const int n = problem.count();
    std::vector<std::vector<char>> covered(n);
    for (int u = 0; u < n; ++u) {
        covered[u].assign(graph[u].size(), 0);
    }
    const auto mark = [&](int u, int v) {
        const auto at = std::lower_bound(graph[u].begin(), graph[u].end(), v) - graph[u].begin();
        covered[u][static_cast<std::size_t>(at)] = 1;
    };
    for (int u = 0; u < n; ++u) {
        std::vector<std::size_t> by_size(graph[u].size());
        std::iota(by_size.begin(), by_size.end(), 0);
        std::stable_sort(by_size.begin(), by_size.end(), [&](std::size_t a, std::size_t b) {
            return problem.units[graph[u][a]].size > problem.units[graph[u][b]].size;
        });
        bool alone = graph[u].empty();
        for (std::size_t start : by_size) {
            if (covered[u][start]) {
                continue;
            }
            std::vector<int> clique{u, graph[u][start]};
            for (std::size_t next : by_size) {
                const int v = graph[u][next];
                if (std::all_of(clique.begin(), clique.end(),
                                [&](int w) { return w != v && adjacent.has(v, w); })) {
                    clique.push_back(v);
                }
            }
            for (int a : clique) {
                for (int b : clique) {
                    if (a != b) {
                        mark(a, b);
                    }
                }
            }
            cover.cliques.push_back(clique);
        }
        if (alone) {
            cover.cliques.push_back({u});
        }
    }
}

} // namespace

CliqueCover cover_by_cliques(const Problem &problem)
{
    const Graph graph = disjoint_graph(problem);
    const Adjacency adjacent(graph);
    CliqueCover cover;
    cover.chordal = chordal_cover(graph, adjacent, search_order(graph), cover);
    if (!cover.chordal) {
        cover = CliqueCover{};
        greedy_cover(problem, graph, adjacent, cover);
    }
    for (auto &clique : cover.cliques) {
        std::sort(clique.begin(), clique.end());
    }
    return cover;
}

Bytes lower_bound(const Problem &problem, const CliqueCover &cover)
{
    Bytes best = 0;
    for (const Unit &unit : problem.units) {
        best = std::max(best, unit.size + (unit.fixed >= 0 ? unit.fixed : unit.residue));
    }
    const Bytes grain = common_grain(problem);
    for (const auto &clique : cover.cliques) {
        Bytes sum = 0, most_waste = 0;
        for (int u : clique) {
            const Unit &unit = problem.units[u];
            const Bytes whole = round_up(unit.size, grain);
            sum += whole;
            most_waste = std::max(most_waste, whole - unit.size);
        }
        best = std::max(best, sum - most_waste);
    }
    return best;
}

namespace
{

bool matters(const Unit &unit, Bytes step)
{
    return step % unit.modulus != 0 || unit.residue % unit.modulus != 0;
}

// The greatest number of which all offsets of a placement without slack are multiples.
Bytes common_step(const Problem &problem)
{
    Bytes step = 0;
    for (const Unit &unit : problem.units) {
        step = std::gcd(step, unit.size);
        if (unit.fixed > 0) {
            step = std::gcd(step, unit.fixed);
        }
        for (const Neighbour &neighbour : unit.neighbours) {
            for (const Zone &zone : neighbour.zones) {
                step = std::gcd(std::gcd(step, zone.low), zone.high);
            }
        }
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (const Unit &unit : problem.units) {
            const Bytes finer =
                matters(unit, step) ? std::gcd(step, std::gcd(unit.modulus, unit.residue)) : step;
            changed = changed || finer != step;
            step = finer;
        }
    }
    return std::max<Bytes>(step, 1);
}

} // namespace

Bytes common_grain(const Problem &problem)
{
    Bytes grain = 0;
    for (const Unit &unit : problem.units) {
        if (unit.fixed < 0) {
            grain = std::gcd(grain, std::gcd(unit.modulus, unit.residue));
        } else {
            grain = 1;
        }
    }
    return std::max<Bytes>(grain, 1);
}

Scaled scale_down(const Problem &problem)
{
    Scaled scaled{problem, common_step(problem)};
    for (Unit &unit : scaled.problem.units) {
        unit.size /= scaled.unit;
        const bool aligned = matters(unit, scaled.unit);
        unit.modulus = aligned ? unit.modulus / scaled.unit : 1;
        unit.residue = aligned ? unit.residue / scaled.unit : 0;
        unit.fixed = unit.fixed > 0 ? unit.fixed / scaled.unit : unit.fixed;
        for (Neighbour &neighbour : unit.neighbours) {
            for (Zone &zone : neighbour.zones) {
                zone.low /= scaled.unit;
                zone.high /= scaled.unit;
            }
        }
    }
    return scaled;
}

} // namespace tilewright
