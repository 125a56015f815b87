"""The order of operators with the lowest peak, against all orders."""

from __future__ import annotations

import random
from itertools import permutations

import pytest
from tilewright.graph import DType, Graph, Tensor
from tilewright.graph.edit import make_node
from tilewright.storage.order import as_late_as_possible, make_problem
from tilewright.storage.order_search import OrderProblem, best_order, peak_of


def random_problem(seed: int, operators: int) -> OrderProblem:
    """A random graph: each operator writes one value and reads up to three earlier ones."""
    draw = random.Random(seed)
    reads = tuple(
        tuple(sorted(draw.sample(range(number), min(number, draw.randint(1, 3))))) if number else ()
        for number in range(operators)
    )
    writes = tuple((number,) for number in range(operators))
    sizes = tuple(draw.choice([1, 2, 5, 10, 50, 100]) for _ in range(operators))
    unread = frozenset(range(operators)) - {value for values in reads for value in values}
    return make_problem(reads, writes, sizes, kept=frozenset(draw.sample(sorted(unread), 1)))


def brute_force(problem: OrderProblem) -> int:
    """The lowest peak of all topological orders, by depth-first search over all of them."""
    best = sum(problem.sizes) + 1

    def extend(order: list[int]) -> None:
        nonlocal best
        if order and peak_by_lifetimes(problem, order) >= best:
            return
        if len(order) == len(problem.reads):
            best = peak_by_lifetimes(problem, order)
            return
        for operator, before in enumerate(problem.before):
            if operator not in order and all(other in order for other in range(len(order) + 64) if before >> other & 1):
                extend([*order, operator])

    extend([])
    return best


def peak_by_lifetimes(problem: OrderProblem, order: list[int]) -> int:
    """Bytes alive at each step of a partial order, from each value's first and last use."""
    step = {operator: number for number, operator in enumerate(order)}
    peak = 0
    for now in range(len(order)):
        alive = 0
        for value, size in enumerate(problem.sizes):
            writers = [step[o] for o in range(len(problem.writes)) if value in problem.writes[o] and o in step]
            users = [o for o in range(len(problem.reads)) if value in problem.reads[o] or value in problem.writes[o]]
            ends = (
                len(order)
                if value in problem.kept or any(o not in step for o in users)
                else max(step[o] for o in users)
            )
            alive += size if writers and min(writers) <= now <= ends else 0
        peak = max(peak, alive)
    return peak


@pytest.mark.parametrize("seed", range(300))
def test_equals_brute_force(seed: int) -> None:
    problem = random_problem(seed, 4 + seed % 5 if seed % 10 else 9)
    result = best_order(problem)
    assert sorted(result.order) == list(range(len(problem.reads)))
    assert result.peak_bytes == peak_of(problem, result.order) == peak_by_lifetimes(problem, list(result.order))
    assert result.peak_bytes == result.lower_bound_bytes == brute_force(problem)


def test_keeps_the_given_order_where_none_is_better() -> None:
    chain = make_problem(((), (0,), (1,)), ((0,), (1,), (2,)), (10, 20, 30))
    assert best_order(chain).order == (0, 1, 2)


def test_finishes_one_branch_before_the_next() -> None:
    # a -> b -> c, a -> d -> e, c + e; b and d are large.
    problem = make_problem(
        ((), (0,), (0,), (1,), (2,), (3, 4)), ((0,), (1,), (2,), (3,), (4,), (5,)), (1, 100, 100, 1, 1, 1)
    )
    result = best_order(problem)
    assert result.given_peak_bytes == 201
    assert result.peak_bytes == 102


def test_a_wrong_peak_is_noticed() -> None:
    problem = random_problem(7, 8)
    worst = max(
        (order for order in permutations(range(8)) if _is_topological(problem, order)),
        key=lambda order: peak_of(problem, order),
    )
    assert peak_of(problem, worst) > best_order(problem).peak_bytes


def _is_topological(problem: OrderProblem, order: tuple[int, ...]) -> bool:
    done = 0
    for operator in order:
        if problem.before[operator] & ~done:
            return False
        done |= 1 << operator
    return True


def test_large_graphs_get_an_order_and_a_bound() -> None:
    problem = random_problem(1, 70)
    result = best_order(problem)
    assert result.lower_bound_bytes <= result.peak_bytes <= result.given_peak_bytes


def test_the_shorter_way_around_a_block_runs_last() -> None:
    """Each operator is named as what it writes: side and b read a, c reads b, y reads side and c, end reads y."""
    reads = {"a": ["x"], "side": ["a"], "b": ["a"], "c": ["b"], "y": ["side", "c"], "end": ["y"]}
    tensors = {name: Tensor(name, DType.INT8, (4,), (0,)) for name in ("x", *reads)}
    nodes = tuple(make_node("Add", inputs, [name]) for name, inputs in reads.items())
    graph = Graph("net", nodes, tensors, ("x",), ("end",))
    late = as_late_as_possible(graph)
    assert [node.outputs[0] for node in late.nodes] == ["a", "b", "c", "side", "y", "end"]
    assert as_late_as_possible(late).nodes == late.nodes
