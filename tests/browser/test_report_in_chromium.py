"""The report's page in a browser: what it shows, how it answers, and the pictures of the docs."""

from __future__ import annotations

import json
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image
from selenium.webdriver.remote.webelement import WebElement
from support.browser import BEYOND, OVER, TIP, Browser, needs_chromium
from support.long_plan import long_plan
from support.screen_pictures import area, brightness, colours
from support.sound import BASE
from tilewright.check import require_sound
from tilewright.options import build_options
from tilewright.pipeline import plan_model
from tilewright.plan import Plan, Tradeoff
from tilewright.report.html import report_html
from tilewright.report.measured import Measured
from tilewright.report.page import page_data

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"
OPERATORS = 500

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def digits() -> Plan:
    model = ROOT / "examples" / "digits" / "digits.onnx"
    pools = ("l1=3072", "sram=16384")
    return plan_model(build_options(("test", {"model": model, "platform": "qemu-virt-rv32", "pools": pools})))


def written(tmp_path: Path, plan: Plan, measured: Measured | None = None) -> Path:
    path = tmp_path / "report.html"
    path.write_text(report_html(plan, measured), encoding="utf-8")
    return path


def bars(pool: str) -> str:
    return f"#map-{pool} .box[data-buffer] rect"


def bar(browser: Browser, pool: str, name: str) -> WebElement:
    """The box of a buffer in a memory map."""
    names = browser.run(
        f"[...document.querySelectorAll('#map-{pool} .box[data-buffer]')].map((box) =>"
        f" report.pools.find((entry) => entry.name === '{pool}').buffers[box.dataset.buffer].name)"
    )
    return browser.find(bars(pool))[names.index(name)]


def require_quiet(browser: Browser) -> None:
    assert browser.complaints() == []
    assert browser.requests() == []


def test_pointing_at_a_buffer_tells_what_it_is_and_why_it_is_there(browser: Browser, tmp_path: Path) -> None:
    browser.open(written(tmp_path, BASE))
    browser.point_at(bar(browser, "l1", "conv.w"))
    text = browser.wait(TIP)
    for words in (
        "conv.w",
        "tensor\nw\n",
        "tile, uint8[2, 3]",
        "[40, 48) of l1, 8",
        "steps 0 to 0",
        "written by\n0: conv (Conv)",
        "why here\nl1 is the pool for this tile. Directly above conv.x",
    ):
        assert words in text, (words, text)
    browser.click(bar(browser, "l1", "conv.w"))
    assert "conv.w" in browser.wait("document.querySelector('#details:not([hidden])')?.innerText")
    browser.click(browser.find("#close")[0])
    browser.wait("document.getElementById('details').hidden")
    require_quiet(browser)


def test_capacity_and_lower_bound_are_drawn(browser: Browser, tmp_path: Path) -> None:
    browser.open(written(tmp_path, BASE))
    lines = "[...document.querySelectorAll('#map-l1 .level')].map((path) => [path.classList[1], path.dataset.bytes])"
    assert browser.run(lines) == [["alive", "112"], ["bound", "256"], ["capacity", "256"]]
    notes = browser.run("[...document.querySelectorAll('#map-sram .note')].map((text) => text.textContent)")
    assert notes == ["lower bound 128: reached", "capacity 512"]


@pytest.mark.parametrize("width", [1280, 390])
def test_notes_of_large_pools_stand_apart(browser: Browser, tmp_path: Path, width: int) -> None:
    pools = tuple(replace(pool, size_bytes=1 << 50) for pool in BASE.pools)
    with browser.wide(width):
        browser.open(written(tmp_path, replace(BASE, pools=pools)))
        assert len(browser.find(".note")) == 6
        assert browser.run(OVER) == []


def test_boxes_have_labels_and_shades_and_the_callers_lie_above(browser: Browser, tmp_path: Path) -> None:
    browser.open(written(tmp_path, BASE))
    labels = browser.run("[...document.querySelectorAll('#map-sram .box .label')].map((text) => text.textContent)")
    assert labels == ["m", "caller's x", "caller's out"]
    heights = (
        "[...document.querySelectorAll('#map-sram .caller rect')].map((box) => Number(box.getAttribute('height')))"
    )
    x, out = browser.run(heights)
    assert out == pytest.approx(4 * x)
    shade = "getComputedStyle(document.querySelector('#map-l1 [data-buffer=\"{}\"] rect')).fill"
    names = [item["name"] for item in page_data(BASE)["pools"][0]["buffers"]]
    conv, relu = (browser.run(shade.format(names.index(name))) for name in ("conv.x", "relu.x"))
    assert conv != relu, "two tiles of neighbouring layers"


def test_search_and_filters_leave_what_was_asked_for(browser: Browser, tmp_path: Path) -> None:
    browser.open(written(tmp_path, BASE))
    browser.find("#search")[0].send_keys("RELU.X tile")
    browser.wait("document.getElementById('found').textContent === '1 buffers, 0 layers'")
    names = browser.run(
        "[...document.querySelectorAll('#map-l1 .box:not(.dim)')]"
        ".map((box) => report.pools[0].buffers[box.dataset.buffer].name)"
    )
    assert names == ["relu.x"]
    browser.find("#search")[0].clear()
    browser.find("#search")[0].send_keys("tw_relu")
    browser.wait("document.querySelectorAll('#table tbody tr:not([hidden])').length === 1")
    assert len(browser.find("#network .node:not(.dim)")) == 1
    assert [row.get_attribute("data-step") for row in browser.find("#cycles .bar:not(.dim)")] == ["1"]
    browser.find("#search")[0].send_keys("\b" * 7)
    browser.wait("document.querySelectorAll('#table tbody tr:not([hidden])').length === 2")
    browser.click(browser.find("#cut")[0])
    assert browser.run(
        "[...document.querySelectorAll('#table tbody tr:not([hidden])')].map((row) => row.dataset.step)"
    ) == ["0"]
    before = sum(box.is_displayed() for box in browser.find(bars("l1")))
    browser.click(browser.find("#kinds input[value=scratch]")[0])
    assert sum(box.is_displayed() for box in browser.find(bars("l1"))) == before - 1
    require_quiet(browser)


def test_a_layer_is_chosen_in_table_and_graph_and_shown_everywhere(browser: Browser, tmp_path: Path) -> None:
    browser.open(written(tmp_path, BASE, Measured({"conv": 900, "relu": 1_200}, "instructions")))
    assert "2,100 instructions measured" in browser.find("header")[0].text
    browser.click(browser.find("#table tbody tr")[1])
    band = browser.run("Number(document.querySelector('#map-l1 .band rect').getAttribute('x'))")
    assert band == pytest.approx(browser.run("maps[0].scale.x(1)"))
    assert browser.find("#cycles .bar.selected")[0].get_attribute("data-step") == "1"
    assert "1: relu (Relu)" in browser.find("#tile-text")[0].text
    browser.click(browser.find("#table th[data-key=measured]")[0])
    assert [row.get_attribute("data-step") for row in browser.find("#table tbody tr")] == ["1", "0"]
    heat = "[...document.querySelectorAll('.node.layer')].map((node) => node.style.getPropertyValue('--heat'))"
    assert browser.run(heat) == ["100.0%", "100.0%"]
    assert browser.run("document.querySelector('#network .tick').textContent") == "8x4 32 B"
    browser.click(browser.find("#network .node.layer circle")[0])
    browser.wait("page.selected === 0")
    assert browser.find("#table tr.selected")[0].get_attribute("data-step") == "0"
    require_quiet(browser)


def test_tiles_are_drawn_where_the_plan_has_them(browser: Browser, tmp_path: Path) -> None:
    """Rectangles worked out by hand: conv reads rows oh - 1 ... oh + 1, three rows and two channels at a time."""
    browser.open(written(tmp_path, BASE))
    browser.run("showLayer(0)")
    expected = {
        0: ["[0:4 of 8, 0:4]", "[0:2 of 4, 0:3]", "[0:2 of 4, 0:3 of 8, 0:4]"],
        1: ["[2:7 of 8, 0:4]", "[0:2 of 4, 0:3]", "[0:2 of 4, 3:6 of 8, 0:4]"],
        5: ["[5:8 of 8, 0:4]", "[2:4 of 4, 0:3]", "[2:4 of 4, 6:8 of 8, 0:4]"],
    }
    for tile, parts in expected.items():
        browser.run(f"(element('tile').value = {tile}, showTile())")
        assert [item.text.splitlines()[-1] for item in browser.find("#operands figcaption")] == [
            f"tile {tile}: {part}" for part in parts
        ]
    drawn = browser.find("#operands figure:nth-child(3) .tile")[0]
    assert drawn.get_attribute("data-part") == "2,4,6,8"
    assert len(browser.find("#operands figure:nth-child(3) .outline")) == 6
    require_quiet(browser)


def test_negative_strides_divisors_and_groups(browser: Browser, tmp_path: Path) -> None:
    browser.open(written(tmp_path, BASE))
    kernel = {"indices": [["a", 10, 3, 0], ["b", 6, 2, 0]], "groups": [["a.l2", "a", 2]]}
    bounds = browser.run(f"indexBounds({json.dumps(kernel)}, 10)")
    assert bounds == {"a": [9, 10], "b": [2, 4], "a.l2": [6, 10]}
    assert browser.run(f"axisPart([[['b', -1]], 5, 5, 1, 6], {json.dumps(bounds)})") == [2, 4]
    assert browser.run(f"axisPart([[['a', 1]], 0, 1, 2, 20], {json.dumps(bounds)})") == [4, 6]
    assert browser.run(f"axisPart([[['a.l2', 1]], -7, 3, 1, 12], {json.dumps(bounds)})") == [0, 12]


def test_tiles_behind_a_first_one_that_is_shorter(browser: Browser, tmp_path: Path) -> None:
    """Rows in threes, the first tile shorter by two; columns in two tiles although a tile could hold them all."""
    browser.open(written(tmp_path, BASE))
    kernel = json.dumps({"indices": [["a", 10, 3, 2], ["b", 6, 6, 4]], "groups": []})
    assert browser.run(f"tileCount({kernel})") == 8
    assert browser.run(f"[0, 1, 2, 7].map((tile) => indexBounds({kernel}, tile))") == [
        {"a": [0, 1], "b": [0, 2]},
        {"a": [0, 1], "b": [2, 6]},
        {"a": [1, 4], "b": [0, 2]},
        {"a": [7, 10], "b": [2, 6]},
    ]
    axes = [[[["b", 1]], 0, 0, 1, 6], [[["a", 1]], 0, 0, 1, 10], [[], 0, 4, 1, 5]]
    assert browser.run(f"drawnAxes({json.dumps({'axes': axes})}, {kernel})") == [0, 1]


def test_a_plan_without_layers_has_a_page(browser: Browser, tmp_path: Path) -> None:
    browser.open(written(tmp_path, replace(BASE, program=(), layers=())))
    assert "0 layers" in browser.find("header")[0].text
    assert len(browser.find(".map")) == 3
    require_quiet(browser)


@pytest.mark.parametrize("width", [1280, 390])
def test_long_names_do_not_widen_the_page(browser: Browser, tmp_path: Path, width: int) -> None:
    long = "functional/batch_normalization/" * 20
    operators = tuple(replace(layer, operator=long, label=long) for layer in BASE.layers)
    plan = replace(BASE, model=long, layers=operators, front=(Tradeoff(9, 9), Tradeoff(8, 10, True), Tradeoff(1, 11)))
    with browser.wide(width):
        browser.open(written(tmp_path, plan, Measured({"conv": 900, "relu": 1_200}, "instructions")))
        assert browser.run("document.documentElement.scrollWidth") == width
        assert browser.run("innerWidth") == width
        assert browser.run(BEYOND) == []


def test_the_page_opens_with_the_verdict(browser: Browser, tmp_path: Path) -> None:
    browser.open(written(tmp_path, BASE))
    verdict = browser.find("header #verdict.fits")[0]
    for words in ("Fits.", "l1 100.0 %, 256 of 256", "2.6 cycles per multiply-accumulate", "l1 peaks at relu"):
        assert words in verdict.text
    assert verdict.rect["y"] + verdict.rect["height"] < 900
    browser.find("#clock")[0].send_keys("100")
    assert browser.run("element('time').textContent") == "0.02 ms"


def test_charts_have_one_unit_each_and_begin_with_the_most(browser: Browser, tmp_path: Path) -> None:
    parts = {"kernels": {"conv": 700}, "waits": {"conv": 150}}
    counts = {"conv": 900, "relu": 1_200}
    browser.open(written(tmp_path, BASE, Measured(counts, "instructions", **parts)))
    units = "[...document.querySelectorAll('.chart')].map((chart) => [chart.id, chart.querySelector('b').textContent])"
    assert browser.run(units) == [["cycles", "cycles"], ["measured", "instructions measured"], ["bytes", "bytes moved"]]
    assert [row.get_attribute("data-step") for row in browser.find("#measured .bar")] == ["1", "0"]
    shares = "[...document.querySelectorAll('#measured [data-step=\"0\"] .track i')]"
    shares += ".map((part) => [part.className, part.style.width])"
    assert browser.run(shares) == [["compute", "58.333%"], ["waits", "12.5%"], ["copies", "4.167%"]]
    browser.click(browser.find("#sorted")[0])
    assert [row.get_attribute("data-step") for row in browser.find("#measured .bar")] == ["0", "1"]
    browser.open(written(tmp_path, BASE, Measured(counts, "cycles", **parts)))
    assert browser.run(units) == [["cycles", "cycles"], ["bytes", "bytes moved"]]
    assert len(browser.find("#cycles .bar:first-child .track")) == 2
    require_quiet(browser)


def test_groups_show_when_their_layers_work(browser: Browser, tmp_path: Path) -> None:
    page = written(tmp_path, BASE)
    stage = {"layer": "conv", "rows": 2, "all_rows": 8, "first": 1, "every": 2, "blocks": 4, "ring": "m"}
    group = {"iterations": 8, "stages": [{**stage, "ring_rows": 3, "ring_bytes": 96}]}
    browser.open(page)
    browser.run(f"report.groups.push({json.dumps(group)})")
    browser.run("(element('pools').append(html('div', { id: 'group-0' })), drawGroups())")
    blocks = "[...document.querySelectorAll('#group-0 rect')].map((box) => Number(box.getAttribute('x')))"
    first, second, third, fourth = browser.run(blocks)
    assert second - first == pytest.approx(third - second) == pytest.approx(fourth - third)
    assert browser.run("stageBlocks({first: 3, every: 1, blocks: 5})") == [[3, 8]]
    browser.point_at(browser.find("#group-0 rect")[0])
    assert "m: 3 rows, 96 bytes" in browser.wait(TIP)


def test_names_are_text_never_markup(browser: Browser, tmp_path: Path) -> None:
    evil = "</script><img src=x onerror=alert(1)>&amp;<b>"
    layers = (replace(BASE.layers[0], operator=evil), BASE.layers[1])
    browser.open(written(tmp_path, replace(BASE, model=evil, layers=layers)))
    assert evil in browser.find("header")[0].text
    browser.point_at(browser.find(bars("l1"))[0])
    assert "onerror=alert(1)" in browser.wait(TIP)
    assert browser.find("img") == []
    require_quiet(browser)


def test_a_page_of_500_operators_opens_and_responds(browser: Browser, tmp_path: Path) -> None:
    plan = long_plan(OPERATORS)
    require_sound(plan)
    browser.open(written(tmp_path, plan))
    assert browser.run("maps.map((map) => map.drawing.querySelectorAll('.box[data-buffer]').length)") == [1000, 499]
    browser.find("#search")[0].send_keys("f321")
    browser.wait("document.querySelectorAll('#table tbody tr:not([hidden])').length === 1")
    browser.click(browser.find("#table tbody tr:not([hidden])")[0])
    assert "321: f321" in browser.find("#tile-text")[0].text
    require_quiet(browser)


def test_pictures_of_the_docs(browser: Browser, digits: Plan, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Light, dark, details and tiles; --update-golden writes them into docs/images."""
    measured = Measured({layer.name: int(0.9 * layer.predicted_cycles) for layer in digits.layers}, "instructions")
    page = written(tmp_path, digits, measured)
    pictures = {}
    for scheme in ("light", "dark"):
        browser.open(page, dark=scheme == "dark")
        box = browser.run("({x: 0, y: 0, width: innerWidth, height: document.querySelectorAll('.map')[1].offsetTop})")
        pictures[f"report-{scheme}"] = browser.picture(box, 0.75)
    browser.open(page)
    browser.click(bar(browser, "sram", "relu_2_QuantizeLinear_Output"))
    browser.wait(TIP)
    box = browser.run("({x: 0, y: scrollY, width: innerWidth, height: innerHeight})")
    pictures["report-details"] = browser.picture(box, 0.75)
    pictures["report-tiles"] = browser.picture(area(browser, "#tiles"), 0.75)
    require_quiet(browser)
    for name, content in pictures.items():
        path = IMAGES / f"{name}.png"
        if request.config.getoption("--update-golden"):
            Image.open(BytesIO(content)).convert("RGB").quantize(256).save(path, optimize=True)
        assert colours(content) > 8, f"{name} is blank"
        assert abs(brightness(content) - brightness(path.read_bytes())) < 16, f"{name}.png is out of date"
    assert brightness(pictures["report-dark"]) < 90 < 180 < brightness(pictures["report-light"])


def test_print_is_light_and_complete_also_where_the_screen_is_dark(browser: Browser, tmp_path: Path) -> None:
    browser.open(written(tmp_path, BASE), dark=True)
    tone = "getComputedStyle(document.querySelector('#map-l1 .label')).fill + getComputedStyle(document.body).color"
    assert "rgb(228, 232, 238)" in browser.run(tone)
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert browser.run(tone).endswith("rgb(0, 0, 0)")
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    pdf = browser.pdf()
    assert pdf.startswith(b"%PDF")
    assert len(pdf) > 15_000
    require_quiet(browser)


def test_what_the_checks_must_catch(browser: Browser, tmp_path: Path) -> None:
    """The checks notice a page whose script fails, a page that asks a network for something, and a page too wide."""
    page = tmp_path / "bad.html"
    page.write_text("<script>throw new Error('broken')</script>", encoding="utf-8")
    browser.open(page)
    assert any("broken" in line for line in browser.complaints())
    page.write_text("<img src='http://127.0.0.1:9/picture.png'>", encoding="utf-8")
    browser.open(page)
    assert browser.requests() == ["http://127.0.0.1:9/picture.png"]
    page.write_text("<div style='width: 500px'>wide</div>", encoding="utf-8")
    with browser.wide(390):
        browser.open(page)
        assert len(browser.run(BEYOND)) == 1
    notes = "<text class='note' x='9' y='20'>capacity</text><text class='note' x='20' y='20'>bound</text>"
    page.write_text(f"<svg>{notes}</svg>", encoding="utf-8")
    browser.open(page)
    assert browser.run(OVER) == ["capacity,bound"]
    allowed = written(tmp_path, BASE).read_text(encoding="utf-8")
    page.write_text(allowed.replace("<main>", "<main><img src='http://127.0.0.1:9/picture.png'>"), encoding="utf-8")
    browser.open(page)
    assert any("Content Security Policy" in line for line in browser.complaints())
