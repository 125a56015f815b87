"""Random networks of Concat, Slice, views and elementwise operators: plans are sound, and compute what they should."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, Phase, event, given, settings
from hypothesis import strategies as st
from support.machine import Machine
from support.networks import networks
from support.planned import far_platform, near_platform, plan_of, planned, with_cores
from tilewright.catalogue.evaluate import evaluate
from tilewright.check import check
from tilewright.graph import Graph
from tilewright.options import Buffering, Order
from tilewright.plan import RelationKind, callers_kinds
from tilewright.storage.joining import plan_storage

EFFORT = settings(
    max_examples=200,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
)


def random_inputs(graph: Graph) -> dict[str, np.ndarray]:
    random = np.random.default_rng(1)
    return {
        name: random.integers(-100, 100, graph.tensor(name).shape).astype(graph.tensor(name).dtype.numpy)
        for name in graph.inputs
    }


@EFFORT
@given(
    networks(),
    st.sampled_from([None, 160, 400]),
    st.booleans(),
    st.sampled_from([{}, {"io_in_pools": True}, {"outputs_in_pools": True}]),
    st.sampled_from([order.value for order in Order]),
    st.sampled_from([1, 8]),
)
def test_plans_compute_what_the_graph_says(
    graph: Graph, l1_bytes: int | None, overlap: bool, interface: dict[str, bool], order: str, cores: int
) -> None:
    platform = near_platform() if l1_bytes is None else far_platform(4 * l1_bytes, asynchronous=overlap)
    platform = with_cores(platform, cores)
    found = planned(graph, platform, buffering=Buffering.AUTO, order=order, **interface)
    plan = plan_of(graph, platform, found)
    assert check(plan) == []
    parts = any(item.kind is RelationKind.AT_OFFSET and item.offset_bytes for item in plan.relations)
    event(f"parts: {parts}, in place: {any(item.kind is RelationKind.TRAILS for item in plan.relations)}")
    inputs = random_inputs(graph)
    wanted = evaluate(graph, inputs)
    callers = callers_kinds(**interface)
    stored = plan_storage(graph, platform, callers=callers).graph
    got = Machine(plan, stored).run(inputs)
    for name in graph.outputs:
        np.testing.assert_array_equal(got[name], wanted[name])
