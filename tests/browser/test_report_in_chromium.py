"""The report's page in a browser: what it shows, how it answers, and the pictures of the docs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from selenium.webdriver.remote.webelement import WebElement
from support.browser import Browser, chromium, needs_chromium
from support.long_plan import long_plan
from support.sound import BASE
from tilewright.check import require_sound
from tilewright.options import build_options
from tilewright.pipeline import plan_model
from tilewright.plan import Plan
from tilewright.report.html import report_html
from tilewright.report.measured import Measured

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"
OPERATORS = 500

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("chromium") / "profile") as started:
        yield started


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
    return f"#map-{pool} .barlayer .point path"


def bar(browser: Browser, pool: str, name: str) -> WebElement:
    """The box of a buffer in a memory map."""
    names = browser.run(
        f"element('map-{pool}').data.filter((trace) => trace.type === 'bar').flatMap((trace) => trace.customdata"
        f".map((at) => report.pools.find((entry) => entry.name === '{pool}').buffers[at].name))"
    )
    return browser.find(bars(pool))[names.index(name)]


def require_quiet(browser: Browser) -> None:
    assert browser.complaints() == []
    assert browser.requests() == []


def test_pointing_at_a_buffer_tells_what_it_is_and_why_it_is_there(browser: Browser, tmp_path: Path) -> None:
    browser.open(written(tmp_path, BASE))
    browser.point_at(bar(browser, "l1", "conv.w"))
    text = browser.wait("document.querySelector('#map-l1 .hoverlayer .hovertext')?.textContent")
    for words in (
        "conv.w",
        "tensor: w",
        "tile, uint8[2, 3]",
        "[40, 48) of l1, 8",
        "steps 0 to 0",
        "written by: 0: conv (Conv)",
        "why here: l1 is the pool for this tile. Directly above conv.x",
    ):
        assert words in text.replace("\xa0", " "), (words, text)
    browser.click(bar(browser, "l1", "conv.w"))
    assert "conv.w" in browser.wait("document.querySelector('#details:not([hidden])')?.innerText")
    browser.click(browser.find("#close")[0])
    browser.wait("document.getElementById('details').hidden")
    require_quiet(browser)


def test_capacity_and_lower_bound_are_drawn(browser: Browser, tmp_path: Path) -> None:
    browser.open(written(tmp_path, BASE))
    lines = (
        "element('map-l1').data.filter((trace) => trace.type === 'scatter').map((trace) => [trace.name, trace.y[0]])"
    )
    assert browser.run(lines) == [["alive", 112], ["lower bound", 256], ["capacity", 256]]
    notes = browser.run("[...document.querySelectorAll('#map-sram .annotation-text')].map((text) => text.textContent)")
    assert notes == ["lower bound 128: reached", "capacity 512"]


def test_search_and_filters_leave_what_was_asked_for(browser: Browser, tmp_path: Path) -> None:
    browser.open(written(tmp_path, BASE))
    browser.find("#search")[0].send_keys("RELU.X tile")
    browser.wait("document.getElementById('found').textContent === '1 buffers, 0 layers'")
    shown = browser.run("element('map-l1').data.find((trace) => trace.name === 'tile').marker.opacity")
    names = browser.run(
        "element('map-l1').data.find((trace) => trace.name === 'tile').customdata"
        ".map((at) => report.pools[0].buffers[at].name)"
    )
    assert [name for name, opacity in zip(names, shown, strict=True) if opacity == 1] == ["relu.x"]
    browser.find("#search")[0].clear()
    browser.find("#search")[0].send_keys("tw_relu")
    browser.wait("document.querySelectorAll('#table tbody tr:not([hidden])').length === 1")
    opacity = browser.run("element('network').data[2].marker.opacity")
    assert opacity.count(1) == 1
    browser.find("#search")[0].send_keys("\b" * 7)
    browser.wait("document.querySelectorAll('#table tbody tr:not([hidden])').length === 2")
    browser.click(browser.find("#cut")[0])
    assert browser.run(
        "[...document.querySelectorAll('#table tbody tr:not([hidden])')].map((row) => row.dataset.step)"
    ) == ["0"]
    before = len(browser.find(bars("l1")))
    browser.click(browser.find("#kinds input[value=scratch]")[0])
    assert len(browser.find(bars("l1"))) == before - 1
    require_quiet(browser)


def test_a_layer_is_chosen_in_table_and_graph_and_shown_everywhere(browser: Browser, tmp_path: Path) -> None:
    browser.open(written(tmp_path, BASE, Measured({"conv": 900, "relu": 1_200}, "instructions")))
    assert "2,100 instructions measured" in browser.find("header")[0].text
    browser.click(browser.find("#table tbody tr")[1])
    assert browser.run("element('map-l1').layout.shapes[0].x0") == 0.5
    assert browser.run("element('cycles').layout.shapes[0].x1") == 1.5
    assert "1: relu (Relu)" in browser.find("#tile-text")[0].text
    browser.click(browser.find("#table th[data-key=measured]")[0])
    assert [row.get_attribute("data-step") for row in browser.find("#table tbody tr")] == ["1", "0"]
    node = browser.find("#network .scatterlayer .trace:last-child .points path")[1]
    browser.click(node)
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
    drawn = browser.run("document.querySelectorAll('#operands figure > div')[2].data[1]")
    assert (drawn["y"][:4], drawn["x"][:4]) == ([2, 2, 4, 4], [6, 8, 8, 6])
    outlines = browser.run("document.querySelectorAll('#operands figure > div')[2].data[0].x.length")
    assert outlines == 6 * 6
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


def test_long_names_do_not_widen_the_page(browser: Browser, tmp_path: Path) -> None:
    long = "functional/batch_normalization/" * 20
    operators = tuple(replace(layer, operator=long) for layer in BASE.layers)
    browser.open(written(tmp_path, replace(BASE, model=long, layers=operators)))
    assert browser.run("document.documentElement.scrollWidth <= innerWidth")


def test_names_are_text_never_markup(browser: Browser, tmp_path: Path) -> None:
    evil = "</script><img src=x onerror=alert(1)>&amp;<b>"
    layers = (replace(BASE.layers[0], operator=evil), BASE.layers[1])
    browser.open(written(tmp_path, replace(BASE, model=evil, layers=layers)))
    assert evil in browser.find("header")[0].text
    browser.point_at(browser.find(bars("l1"))[0])
    text = browser.wait("document.querySelector('#map-l1 .hoverlayer .hovertext')?.textContent")
    assert "onerror=alert(1)" in text
    assert browser.find("img") == []
    require_quiet(browser)


def test_a_page_of_500_operators_opens_and_responds(browser: Browser, tmp_path: Path) -> None:
    plan = long_plan(OPERATORS)
    require_sound(plan)
    browser.open(written(tmp_path, plan))
    assert browser.run("maps.map((map) => map.drawing.querySelectorAll('.barlayer .point').length)") == [1000, 499]
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
        box = browser.run("({x: 0, y: 0, width: innerWidth, height: 1560})")
        pictures[f"report-{scheme}"] = browser.picture(box, 0.75)
    browser.open(page)
    browser.click(bar(browser, "sram", "relu_2_QuantizeLinear_Output"))
    browser.wait("document.querySelector('#map-sram .hoverlayer .hovertext')?.textContent")
    box = browser.run("({x: 0, y: scrollY, width: innerWidth, height: innerHeight})")
    pictures["report-details"] = browser.picture(box, 0.75)
    pictures["report-tiles"] = browser.picture(area(browser, "#tiles"), 0.75)
    require_quiet(browser)
    for name, content in pictures.items():
        path = IMAGES / f"{name}.png"
        if request.config.getoption("--update-golden"):
            Image.open(BytesIO(content)).convert("RGB").quantize(96).save(path, optimize=True)
        assert colours(content) > 8, f"{name} is blank"
        assert abs(brightness(content) - brightness(path.read_bytes())) < 16, f"{name}.png is out of date"
    assert brightness(pictures["report-dark"]) < 90 < 180 < brightness(pictures["report-light"])


def area(browser: Browser, section: str) -> dict[str, float]:
    box = browser.run(
        f"(({{x, y, width, height}}) => ({{x, y: y + scrollY, width, height}}))"
        f"(document.querySelector('{section}').getBoundingClientRect())"
    )
    assert isinstance(box, dict)
    return box


def brightness(picture: bytes) -> float:
    return float(np.asarray(Image.open(BytesIO(picture)).convert("L")).mean())


def colours(picture: bytes) -> int:
    return len(np.unique(np.asarray(Image.open(BytesIO(picture)).convert("RGB")).reshape(-1, 3), axis=0))


def test_print_is_light_and_complete_also_where_the_screen_is_dark(browser: Browser, tmp_path: Path) -> None:
    browser.open(written(tmp_path, BASE), dark=True)
    assert browser.run("element('map-l1').layout.font.color") == "#e4e8ee"
    browser.run("dispatchEvent(new Event('beforeprint'))")
    assert browser.run("element('map-l1').layout.width") == 680
    browser.run("dispatchEvent(new Event('afterprint'))")
    assert browser.run("element('map-l1').layout.width ?? 0") == 0
    pdf = browser.pdf()
    assert pdf.startswith(b"%PDF")
    assert len(pdf) > 20_000
    require_quiet(browser)


def test_what_the_checks_must_catch(browser: Browser, tmp_path: Path) -> None:
    """A page that fails in a script, and one that asks a network for something."""
    page = tmp_path / "bad.html"
    page.write_text("<script>throw new Error('broken')</script>", encoding="utf-8")
    browser.open(page)
    assert any("broken" in line for line in browser.complaints())
    page.write_text("<img src='http://127.0.0.1:9/picture.png'>", encoding="utf-8")
    browser.open(page)
    assert browser.requests() == ["http://127.0.0.1:9/picture.png"]
    allowed = written(tmp_path, BASE).read_text(encoding="utf-8")
    page.write_text(allowed.replace("<main>", "<main><img src='http://127.0.0.1:9/picture.png'>"), encoding="utf-8")
    browser.open(page)
    assert any("Content Security Policy" in line for line in browser.complaints())
