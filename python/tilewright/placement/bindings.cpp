// SPDX-License-Identifier: Apache-2.0
// tilewright._exact: the thin binding of the exact search.
#include <nanobind/nanobind.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "pool.hpp"

namespace nb = nanobind;
using tilewright::Bytes;

namespace
{

using List = std::vector<Bytes>;

std::pair<std::size_t, std::size_t> pair_of(const List &list, std::size_t at, std::size_t count)
{
    const Bytes u = list[at], v = list[at + 1];
    if (u < 0 || v <= u || v >= static_cast<Bytes>(count)) {
        throw nb::value_error("a pair is out of range");
    }
    return {static_cast<std::size_t>(u), static_cast<std::size_t>(v)};
}

std::vector<std::pair<int, int>> pairs_of(const List &list, std::size_t stride, std::size_t count)
{
    std::vector<std::pair<int, int>> found;
    for (std::size_t i = 0; i < list.size(); i += stride) {
        const auto [u, v] = pair_of(list, i, count);
        found.emplace_back(static_cast<int>(u), static_cast<int>(v));
    }
    return found;
}

tilewright::Lives make_lives(const List &sizes, const List &begins, const List &ends,
                             const List &pairs, const List &zones, const List &free)
{
    const std::size_t n = sizes.size();
    if (begins.size() != n || ends.size() != n || free.size() % 2 != 0) {
        throw nb::value_error("lists of different lengths");
    }
    tilewright::Lives lives;
    lives.begins = begins;
    lives.ends = ends;
    lives.pairs = pairs_of(pairs, 2, n);
    const auto others = pairs_of(zones, 4, n);
    lives.pairs.insert(lives.pairs.end(), others.begin(), others.end());
    lives.free = pairs_of(free, 2, n);
    return lives;
}

// `pairs` holds (u, v) with u < v whose bytes are disjoint; `zones` holds (u, v, low, high) of
// other pairs, those of a pair one behind the other, low ascending.
tilewright::Problem make_problem(const List &sizes, const List &moduli, const List &residues,
                                 const List &fixed, const List &pairs, const List &zones)
{
    const std::size_t n = sizes.size();
    if (moduli.size() != n || residues.size() != n || fixed.size() != n || pairs.size() % 2 != 0 ||
        zones.size() % 4 != 0) {
        throw nb::value_error("lists of different lengths");
    }
    tilewright::Problem problem;
    problem.units.resize(n);
    for (std::size_t u = 0; u < n; ++u) {
        tilewright::Unit &unit = problem.units[u];
        unit.size = sizes[u];
        unit.modulus = moduli[u];
        unit.residue = residues[u];
        unit.fixed = fixed[u];
        if (sizes[u] < 0 || moduli[u] < 1 || residues[u] < 0 || residues[u] >= moduli[u]) {
            throw nb::value_error("a size or an alignment is out of range");
        }
    }
    for (std::size_t i = 0; i < pairs.size(); i += 2) {
        const auto [u, v] = pair_of(pairs, i, n);
        join(static_cast<int>(u), static_cast<int>(v), tilewright::Zones({-sizes[u], sizes[v]}),
             problem);
    }
    for (std::size_t i = 0; i < zones.size();) {
        const auto [u, v] = pair_of(zones, i, n);
        tilewright::Zones all;
        for (; i < zones.size() && pair_of(zones, i, n) == std::pair(u, v); i += 4) {
            all.push_back({zones[i + 2], zones[i + 3]});
        }
        join(static_cast<int>(u), static_cast<int>(v), std::move(all), problem);
    }
    return problem;
}

std::tuple<List, Bytes> place_alive(const List &sizes, const List &moduli, const List &residues,
                                    const List &begins, const List &ends, const List &pairs,
                                    const List &zones, const List &free,
                                    const std::vector<int> &order, bool above)
{
    tilewright::Lives lives = make_lives(sizes, begins, ends, pairs, zones, free);
    const List fixed(sizes.size(), -1);
    lives.problem = make_problem(sizes, moduli, residues, fixed, pairs, zones);
    std::vector<int> sorted = order;
    std::sort(sorted.begin(), sorted.end());
    List all(sizes.size());
    std::iota(all.begin(), all.end(), 0);
    if (!std::equal(sorted.begin(), sorted.end(), all.begin(), all.end())) {
        throw nb::value_error("an order has each unit once");
    }
    const tilewright::Layout layout = tilewright::placed_in_order(
        lives, order, above ? tilewright::Where::kAbove : tilewright::Where::kLowest);
    return {layout.offsets, layout.peak};
}

std::tuple<int, List, Bytes, Bytes, std::int64_t>
solve_alive(const List &sizes, const List &moduli, const List &residues, const List &begins,
            const List &ends, const List &pairs, const List &zones, const List &free,
            const List &fixed, Bytes limit, bool minimise, std::int64_t nodes, std::uint64_t seed,
            nb::object progress)
{
    tilewright::Lives lives = make_lives(sizes, begins, ends, pairs, zones, free);
    lives.problem = make_problem(sizes, moduli, residues, fixed, pairs, zones);
    tilewright::Request request;
    request.limit = limit < 0 ? tilewright::kUnlimited : limit;
    request.minimise = minimise;
    request.nodes = nodes;
    request.seed = seed;
    request.progress = [&progress](Bytes peak, Bytes bound, std::int64_t spent) {
        if (PyErr_CheckSignals() != 0) {
            throw nb::python_error();
        }
        if (!progress.is_none()) {
            progress(peak, bound, spent);
        }
    };
    const tilewright::Answer answer = tilewright::search_pool(lives, request);
    return {static_cast<int>(answer.verdict), answer.offsets, answer.peak, answer.bound,
            answer.nodes};
}

} // namespace

NB_MODULE(_exact, module)
{
    module.doc() = "Exact search for offsets in one pool.";
    module.def("solve_alive", &solve_alive, nb::arg("sizes"), nb::arg("moduli"),
               nb::arg("residues"), nb::arg("fixed"), nb::arg("begins"), nb::arg("ends"),
               nb::arg("pairs"), nb::arg("zones"), nb::arg("free"), nb::arg("limit"),
               nb::arg("minimise"), nb::arg("nodes"), nb::arg("seed"), nb::arg("progress").none(),
               "Returns (verdict, offsets, peak, bound, nodes); verdict 0 fits, 1 does not fit "
               "(proved), 2 budget.");
    module.def("place_alive", &place_alive, nb::arg("sizes"), nb::arg("moduli"),
               nb::arg("residues"), nb::arg("begins"), nb::arg("ends"), nb::arg("pairs"),
               nb::arg("zones"), nb::arg("free"), nb::arg("order"), nb::arg("above"),
               "Places units in turn, lowest or above their neighbours; returns (offsets, peak).");
}
