"""The timeline of the report's page in a browser, for one plan and for two plans in one page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from support.browser import BEYOND, TIP, Browser, needs_chromium
from support.sound import BASE
from tilewright.plan import Plan
from tilewright.report.html import report_html
from tilewright.report.timeline import timeline

pytestmark = needs_chromium


def written(tmp_path: Path, plan: Plan) -> Path:
    path = tmp_path / "report.html"
    path.write_text(report_html(plan), encoding="utf-8")
    return path


def require_quiet(browser: Browser) -> None:
    """Assert that no script failed and that the page asked nothing of a network."""
    assert browser.complaints() == []
    assert browser.requests() == []


def test_the_timeline_shows_when_cores_and_links_work(browser: Browser, tmp_path: Path) -> None:
    """Bars stand where the data has them; one layer fills the width when it is selected and shown alone."""
    plan = spread(BASE, 40_000)
    browser.open(written(tmp_path, plan))
    assert "of that beside computing" in browser.find("#when #hidden")[0].text
    count = "document.querySelectorAll('#timeline rect:not(.turn)').length"
    bars = [len(layer["bars"]) for layer in timeline(plan)["layers"]]
    assert browser.run(count) == sum(bars)
    browser.point_at(browser.find("#timeline .compute")[0])
    assert "core\ncomputing, " in browser.wait(TIP)
    browser.click(browser.find("#timeline .turn")[1])
    assert browser.run("page.selected") == 1
    browser.click(browser.find("#near")[0])
    assert browser.run(count) == bars[1]
    left, width = browser.run(
        "(({ x, width }) => [x.baseVal.value, width.baseVal.value])(document.querySelector('.turn'))"
    )
    assert (left, width) == (190, pytest.approx(browser.run("element('timeline').clientWidth") - 198))
    require_quiet(browser)


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("dark", [False, True])
def test_two_plans_stand_in_one_page(browser: Browser, tmp_path: Path, width: int, dark: bool) -> None:
    path = tmp_path / "report.html"
    path.write_text(report_html(spread(BASE, 30_000), None, None, spread(BASE, 40_000)), encoding="utf-8")
    with browser.wide(width):
        browser.open(path, dark=dark)
        assert browser.run(BEYOND) == []
        assert "-20,000 (-25.0 %)" in browser.find("#compared table")[0].text
        ends = "['timeline', 'compared-timeline'].map((id) => Math.max(...[...element(id).querySelectorAll('.turn')]"
        ends += ".map((band) => band.x.baseVal.value + band.width.baseVal.value)))"
        new, old = browser.run(ends)
        start = 8 if width < 600 else 190
        assert (new - start) / (old - start) == pytest.approx(0.75)
    require_quiet(browser)


def spread(plan: Plan, cycles: int) -> Plan:
    """Each layer is predicted to take so long."""
    return replace(plan, layers=tuple(replace(layer, predicted_cycles=cycles) for layer in plan.layers))
