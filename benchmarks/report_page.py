"""Measures the report's page of a large network: seconds until it is written, drawn, and until it answers.

    python benchmarks/report_page.py [--operators N]

A network of convolutions, additions and activations is made up and planned for qemu-virt-rv32 with
16,000 bytes of l1. Prints CPU seconds of ``tilewright report --format html``, the page's bytes, and
in headless Chromium the CPU seconds of the page's thread until it is loaded and drawn, and its
milliseconds for a search, the choice of a layer, the next tile and other colours; what the clock on the
wall says stands behind in brackets. Exit status 1 if a limit below is missed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from generation import made_up
from support.browser import Browser, chromium

WRITE_LIMIT_S = 5.0
LOAD_LIMIT_S = 5.0
ANSWER_LIMIT_MS = 1000.0
ANSWERS = {
    "search": "element('search').value = 'conv t12', element('search').dispatchEvent(new Event('input'))",
    "choose a layer": "select(report.layers.length >> 1)",
    "next tile": "element('tile').value = 1, showTile()",
    "other colours": "drawAgain()",
}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--operators", type=int, default=500)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plan, page = folder / "made_up_plan.json", folder / "made_up_report.html"
        model = folder / "made_up.onnx"
        model.write_bytes(made_up(arguments.operators))
        pools = ["--pool=l1=16000", "--pool=sram=0x1000000"]
        tool("plan", "--model", str(model), "--platform", "qemu-virt-rv32", *pools, "--output", str(plan))
        seconds = tool("report", str(plan), "--format", "html", "--output", str(page))
        print(f"{arguments.operators} operators, page of {page.stat().st_size:,} bytes")
        late = shown("written, CPU", seconds, WRITE_LIMIT_S, "s")
        with chromium(folder / "profile") as browser:
            browser.driver.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
            wall = browser.open(page)
            late |= shown("loaded and drawn", thread_seconds(browser), LOAD_LIMIT_S, "s", wall)
            for what, script in ANSWERS.items():
                before, wall = thread_seconds(browser), answer(browser, script)
                late |= shown(what, 1000 * (thread_seconds(browser) - before), ANSWER_LIMIT_MS, "ms", wall)
            assert not browser.complaints()
            assert not browser.requests()
    return int(late)


def tool(*words: str) -> float:
    """CPU seconds of one run of ``tilewright``."""
    before = os.times()
    subprocess.run([sys.executable, "-m", "tilewright", *words], check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def thread_seconds(browser: Browser) -> float:
    """CPU seconds that the page's main thread has spent."""
    metrics = browser.driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    return float(next(item["value"] for item in metrics if item["name"] == "TaskDuration"))


def answer(browser: Browser, script: str) -> float:
    """Milliseconds until the browser has drawn what a script changes."""
    begin = time.monotonic()
    wait = "requestAnimationFrame(() => setTimeout(done, 0))"
    browser.driver.execute_async_script(f"const done = arguments[0]; {script}; {wait}")
    return 1000 * (time.monotonic() - begin)


def shown(what: str, value: float, limit: float, unit: str, wall: float | None = None) -> bool:
    """Print a figure; whether it misses its limit."""
    beside = "" if wall is None else f" ({wall:.1f})"
    print(f"  {what}: {value:.1f} {unit}{beside}" + (f", LIMIT {limit:g}" if value > limit else ""))
    return value > limit


if __name__ == "__main__":
    raise SystemExit(main())
