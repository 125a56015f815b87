"""Constants of the cost model from profiles: known ones are found again, and stand in the platform file."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tilewright.base.errors import ExitStatus, TilewrightError
from tilewright.cli import main
from tilewright.platform import find_platform, load_platform
from tilewright.platform.costs import Costs, KernelCost
from tilewright.tools.calibrate import (
    Fitted,
    LinkCost,
    Sample,
    fit,
    least_squares,
    read_samples,
    with_unmeasured,
    without_first_calls,
)
from tilewright.tools.calibration_text import cost_text, with_constants

KERNELS = {"conv_integer_folded": KernelCost(700.0, 1.6), "add_integer_shift": KernelCost(250.0, 1.2)}
TRUE = Costs(900.0, 350.0, 1200.0, 270.0, tuple(KERNELS.items()))
LINKS = {"l2->l1": LinkCost(260.0, 2.0, 8.0), "l2_constants->l1": LinkCost(300.0, 1.0, 4.0)}


def sample(number: int, *, noise: float = 0.0) -> Sample:
    """A layer whose cycles follow from the true constants."""
    random = np.random.default_rng(number)
    kernel = sorted(KERNELS)[number % 2]
    tiles = int(random.integers(1, 30))
    shared = tiles if number % 3 else 0
    rows = 0 if number % 4 else int(random.integers(1, 2_000)) * tiles
    work = int(random.integers(2_000, 900_000)) * tiles
    loads = {
        link: tuple(int(random.integers(1, most)) * tiles for most in (4, 40, 3000))
        for link in ("l2->l1", "l1->l2", "l2_constants->l1")
    }
    cost = KERNELS[kernel]
    kernels = cost.call_cycles * tiles + cost.factor * work + TRUE.fork_cycles * shared
    kernels += TRUE.row_cycles * rows
    others, waits = TRUE.layer_cycles + TRUE.tile_cycles * tiles, 0.0
    for name, (commands, lines, size_bytes) in loads.items():
        link = LINKS["l2->l1" if name == "l1->l2" else name]
        others += 0.8 * link.setup_cycles * commands
        waits += 0.2 * link.setup_cycles * commands + link.line_cycles * lines + size_bytes / link.bytes_per_cycle
    kernels *= 1.0 + noise * random.standard_normal()
    return Sample(
        kernel=kernel,
        tiles=tiles,
        calls=tiles,
        split_calls=shared,
        kernel_work=work,
        loads={name: (load[0], load[1], load[2]) for name, load in loads.items()},
        slots=1,
        cycles=round(kernels) + round(others) + round(waits),
        kernel_cycles=round(kernels),
        wait_cycles=round(waits),
        rows=rows,
    )


def test_known_constants_are_found_again() -> None:
    fitted = fit([sample(number) for number in range(60)], {"l1->l2": "l2->l1"})
    kernels = dict(fitted.costs.kernels)
    for name, cost in KERNELS.items():
        assert kernels[name].factor == pytest.approx(cost.factor, rel=1e-2)
        assert kernels[name].call_cycles == pytest.approx(cost.call_cycles, rel=0.1)
    assert fitted.costs.fork_cycles == pytest.approx(TRUE.fork_cycles, rel=0.05)
    assert fitted.costs.row_cycles == pytest.approx(TRUE.row_cycles, rel=0.02)
    assert fitted.costs.layer_cycles == pytest.approx(TRUE.layer_cycles, rel=0.1)
    assert fitted.costs.tile_cycles == pytest.approx(TRUE.tile_cycles, rel=0.1)
    for name, link in LINKS.items():
        assert fitted.links[name].setup_cycles == pytest.approx(link.setup_cycles, rel=0.1)
        assert fitted.links[name].bytes_per_cycle == pytest.approx(link.bytes_per_cycle, rel=0.02)
    assert set(fitted.links) == set(LINKS)
    assert fitted.largest_error < 0.01


def test_what_was_not_measured_stays() -> None:
    before = Costs(1.0, 2.0, 3.0, 290.0, (("default", KernelCost(5.0)), ("add_integer_shift", KernelCost(6.0))))
    before = replace(before, kernels=(*before.kernels, ("gelu", KernelCost(7.0, 8.0))))
    samples = [replace(sample(number), rows=0) for number in range(60) if number % 4]
    fitted = fit(samples).costs
    kept = with_unmeasured(fitted, before, samples)
    assert dict(kept.kernels) == {**dict(fitted.kernels), "gelu": KernelCost(7.0, 8.0)}
    assert [name for name, _ in kept.kernels] == ["default", "add_integer_shift", "conv_integer_folded", "gelu"]
    assert (kept.row_cycles, kept.layer_cycles) == (290.0, fitted.layer_cycles)
    loaded = replace(before, kernels=(("add_integer_shift", KernelCost(6.0, 1.0, 1290.0, loops_weight=1.5)),))
    add = with_unmeasured(fitted, loaded, samples).kernel("add_integer_shift")
    assert (add.first_cycles, add.lone_weight, add.loops_weight) == (1290.0, 1.0, 1.5)
    assert "first_cycles = 1290.0, loops_weight = 1.5 }" in cost_text(with_unmeasured(fitted, loaded, samples))
    slow = replace(before, kernels=(("add_integer_shift", KernelCost(element_cycles=40.0, point_cycles=60.0)),))
    add = with_unmeasured(fitted, slow, samples).kernel("add_integer_shift")
    assert (add.element_cycles, add.point_cycles) == (0.0, 0.0)
    shorter = without_first_calls(samples, loaded)
    for item, less in zip(samples, shorter, strict=True):
        cycles = 1290 if item.kernel == "add_integer_shift" else 0
        assert (item.cycles - less.cycles, item.kernel_cycles - less.kernel_cycles) == (cycles, cycles)
    measured = [sample(number) for number in range(60)]
    assert with_unmeasured(fit(measured).costs, before, measured).row_cycles == fit(measured).costs.row_cycles


@pytest.mark.parametrize("work", [(80_000,), (80_000, 90_000)])
def test_calls_of_one_size_give_a_factor_alone(work: tuple[int, ...]) -> None:
    """With a constant as well, a kernel of few samples could be said to cost the same whatever work it does."""
    alike = [
        replace(sample(1), kernel="few", tiles=1, calls=1, split_calls=0, kernel_work=each, kernel_cycles=160_000)
        for each in work
    ]
    found = dict(fit([sample(number) for number in range(60)] + alike).costs.kernels)["few"]
    assert found.call_cycles == 0.0
    assert found.factor == pytest.approx(160_000 * len(work) / sum(work), rel=0.01)


def test_noise_moves_constants_a_little_and_order_not_at_all() -> None:
    samples = [sample(number, noise=0.02) for number in range(60)]
    fitted = fit(samples, {"l1->l2": "l2->l1"})
    assert dict(fitted.costs.kernels)["conv_integer_folded"].factor == pytest.approx(1.6, rel=0.05)
    assert 0.01 < fitted.largest_error < 0.2
    again = fit(samples, {"l1->l2": "l2->l1"})
    assert again == fitted


def test_no_link_is_made_faster_than_it_is() -> None:
    samples = [sample(number) for number in range(60)]
    fitted = fit(samples, {"l1->l2": "l2->l1"}, {"l2->l1": 2.0, "l2_constants->l1": 100.0})
    assert fitted.links["l2->l1"].bytes_per_cycle == 2.0
    assert fitted.links["l2_constants->l1"].bytes_per_cycle < 100.0


def test_doubled_layers_say_nothing_about_links() -> None:
    doubled = [replace(sample(number), slots=2) for number in range(9)]
    assert fit(doubled).links == {}
    assert fit(doubled).costs.tile_cycles == 0.0


def test_kernels_without_samples_cost_what_is_usual() -> None:
    fitted = fit([sample(number) for number in range(60)])
    assert fitted.costs.kernel("tilewright_gelu").factor in (1.2, 1.6)
    assert Costs().kernel("tilewright_gelu") == KernelCost(0.0, 1.0)


@pytest.mark.parametrize("seed", range(5))
def test_least_squares_keep_the_conditions_of_an_optimum(seed: int) -> None:
    """Karush, Kuhn and Tucker: no gradient where a constant is free, none that would lower the sum at zero."""
    random = np.random.default_rng(seed)
    rows, wanted = random.uniform(0, 5, (30, 6)), random.uniform(1, 9, 30)
    rows[:, 2] *= 1e5
    found = least_squares(rows, wanted)
    weighted = rows / wanted[:, None]
    gradient = weighted.T @ (weighted @ found - 1.0) / np.linalg.norm(weighted, axis=0)
    assert (found >= 0.0).all()
    assert np.abs(gradient[found > 0.0]).max() < 1e-6
    assert (gradient[found == 0.0] > -1e-6).all()


def test_the_platform_file_keeps_all_else_and_can_be_calibrated_again(tmp_path: Path) -> None:
    text = find_platform("pulp-open").read_text(encoding="utf-8")
    fitted = Fitted(TRUE, LINKS, 0.1)
    once = with_constants(text, fitted)
    assert with_constants(once, fitted) == once
    path = tmp_path / "board.toml"
    path.write_text(once, encoding="utf-8")
    before, after = load_platform("pulp-open"), load_platform(str(path))
    assert after.costs == TRUE
    link = after.link_between("l1", "l2")
    assert link is not None
    assert (link.setup_cycles, link.line_cycles, link.bytes_per_cycle) == (260, 2, 8.0)
    assert replace(after, costs=before.costs, links=before.links) == before
    lines = [line for line in text.splitlines() if "cycle" not in line]
    assert [line for line in once.splitlines() if line in lines][:20] == lines[:20]


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("{", "profile-json"),
        ('{"format": 7}', "profile-json"),
        ('{"format": 1, "platform": "host", "layers": []}', "profile-platform"),
        ('{"format": 1, "platform": "pulp-open", "layers": []}', "profile-empty"),
        ('{"format": 1, "platform": "pulp-open", "layers": [{"name": "conv", "kernel": "k"}]}', "profile-json"),
    ],
)
def test_what_is_no_profile_of_the_platform_is_refused(tmp_path: Path, content: str, code: str) -> None:
    path = tmp_path / "profile.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(TilewrightError) as error:
        read_samples([path], "pulp-open")
    assert error.value.code == code


def test_the_command_writes_a_platform_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As docs/how-to/calibrate.md has it, with two profiles."""
    layers = []
    for number in range(12):
        item = sample(number)
        loads = [{"link": name, "commands": a, "lines": b, "size_bytes": c} for name, (a, b, c) in item.loads.items()]
        work = {"calls": item.calls, "split_calls": item.split_calls, "kernel_work": item.kernel_work, "loads": loads}
        work |= {"rows": item.rows} if item.rows else {}
        measured = {"cycles": item.cycles, "kernel_cycles": item.kernel_cycles, "wait_cycles": item.wait_cycles}
        named = {"name": f"l{number}", "kernel": f"tilewright_{item.kernel}", "tiles": item.tiles, "slots": 1}
        layers.append({**named, **measured, "work": work})
    profile = tmp_path / "profile.json"
    profile.write_text(json.dumps({"format": 1, "platform": "pulp-open", "layers": layers}), encoding="utf-8")
    output = tmp_path / "board.toml"
    words = ["calibrate", "--platform", "pulp-open", *["--profile", str(profile)] * 2, "--output", str(output)]
    assert main(words) == 0
    assert "24 layers" in capsys.readouterr().out
    assert load_platform(str(output)).costs.kernel("tilewright_add_integer_shift").factor == pytest.approx(
        1.2, rel=0.02
    )
    assert main(words[:3]) == ExitStatus.BAD_INPUT
