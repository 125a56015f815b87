/* SPDX-License-Identifier: Apache-2.0 */
"use strict";
/* The tiles of the selected layer, drawn in the tensors that it reads and writes. */
const MOST_OUTLINES = 2000;

/* How many tiles an index has: plan.Index says how. */
const indexTiles = ([, extent, step, shift]) => Math.ceil((extent + shift) / step);

/* Bounds [lower, upper) of each index and group for a tile, counted in lexicographic order. */
function indexBounds(kernel, tile) {
  const bounds = {};
  const at = {};
  let rest = tile;
  for (const index of [...kernel.indices].reverse()) {
    const [name, extent, step, shift] = index;
    const count = indexTiles(index);
    at[name] = rest % count;
    const lower = at[name] * step - shift;
    bounds[name] = [Math.max(lower, 0), Math.min(lower + step, extent)];
    rest = Math.floor(rest / count);
  }
  for (const [name, of, tiles] of kernel.groups) {
    const [, extent, step] = kernel.indices.find((index) => index[0] === of);
    const first = Math.floor(at[of] / tiles) * tiles * step;
    bounds[name] = [first, Math.min(first + tiles * step, extent)];
  }
  return bounds;
}

/* The part [first, end) of an axis: plan.AxisRange says how. */
function axisPart([terms, firstOffset, lastOffset, divisor, extent], bounds) {
  let first = firstOffset;
  let last = lastOffset;
  for (const [name, stride] of terms) {
    const [lower, upper] = bounds[name];
    first += stride * (stride < 0 ? upper - 1 : lower);
    last += stride * (stride < 0 ? lower : upper - 1);
  }
  const clip = (value) => Math.min(Math.max(value, 0), extent);
  return [clip(Math.floor(first / divisor)), clip(Math.floor(last / divisor) + 1)];
}

const tileCount = (kernel) => kernel.indices.reduce((product, index) => product * indexTiles(index), 1);
const rectangle = (operand, bounds) => operand.axes.map((axis) => axisPart(axis, bounds));

/* The two axes that are drawn, [down, across]: those that tiles cut, else the longest; the later ones first. */
function drawnAxes(operand, kernel) {
  const cut = new Set(kernel.indices.filter((index) => indexTiles(index) > 1).map(([name]) => name));
  const rank = operand.axes.map(([terms, , , , extent], axis) => ({ axis, extent, cut: terms.some(([name]) => cut.has(name)) }));
  rank.sort((a, b) => b.cut - a.cut || (b.extent > 1) - (a.extent > 1) || b.axis - a.axis);
  return rank.slice(0, 2).map((item) => item.axis).sort((a, b) => a - b);
}

function outline([top, bottom], [left, right]) {
  return { x: [left, right, right, left, left, null], y: [top, top, bottom, bottom, top, null] };
}

function corners(parts, [down, across]) {
  return outline(down === undefined ? [0, 1] : parts[down], across === undefined ? [0, 1] : parts[across]);
}

function outlines(operand, kernel, axes) {
  const seen = new Map();
  for (let tile = 0; tile < Math.min(tileCount(kernel), MOST_OUTLINES); tile += 1) {
    const parts = rectangle(operand, indexBounds(kernel, tile));
    const key = axes.map((axis) => (axis === undefined ? "" : parts[axis].join())).join(";");
    if (!seen.has(key)) seen.set(key, corners(parts, axes));
  }
  const found = [...seen.values()];
  return { x: found.flatMap((item) => item.x), y: found.flatMap((item) => item.y) };
}

function partText(operand, parts) {
  return parts.map(([first, end], axis) => (first === 0 && end === operand.axes[axis][4] ? `0:${end}` : `${first}:${end} of ${operand.axes[axis][4]}`)).join(", ");
}

function operandTraces(operand, kernel, tile, axes) {
  const parts = rectangle(operand, indexBounds(kernel, tile));
  const tone = colour(operand.side === "read" ? "intermediate" : "scratch");
  return [
    { type: "scatter", mode: "lines", ...outlines(operand, kernel, axes), line: { color: colour("quiet"), width: 0.8 }, hoverinfo: "skip" },
    { type: "scatter", mode: "lines", ...corners(parts, axes), fill: "toself", fillcolor: tone, opacity: 0.75,
      line: { color: colour("text"), width: 1.5 }, hoveron: "fills", hoverinfo: "text", text: `tile ${tile}: [${partText(operand, parts)}]` },
  ];
}

function drawOperand(drawing, operand, kernel, tile) {
  const drawn = drawnAxes(operand, kernel);
  const [down, across] = drawn.length === 2 ? drawn : [undefined, drawn[0]];
  const extent = (axis) => (axis === undefined ? 1 : operand.axes[axis][4]);
  const [height, width] = [extent(down), extent(across)];
  const square = down !== undefined && height < 4 * width && width < 4 * height ? { scaleanchor: "x", constrain: "domain" } : {};
  const axis = (which) => ({ title: { text: which === undefined ? "" : `axis ${which}` }, zeroline: false, dtick: Math.max(1, Math.ceil(extent(which) / 6)), constrain: "domain" });
  return Plotly.react(drawing, operandTraces(operand, kernel, tile, [down, across]), layout({
    height: 250, margin: { l: 45, r: 10, t: 10, b: 35 }, ...(page.width ? { width: 320 } : {}),
    xaxis: { ...axis(across), range: [0, width] },
    yaxis: { ...axis(down), range: [height, 0], visible: down !== undefined, ...square },
    shapes: [{ type: "rect", x0: 0, x1: width, y0: 0, y1: height, line: { color: colour("text"), width: 1 }, layer: "below", fillcolor: colour("page") }],
  }), { ...CONFIG, displayModeBar: false });
}

function operandFigures(layer) {
  return layer.kernels.flatMap((kernel) => kernel.operands.map((operand) => {
    const figure = document.createElement("figure");
    const caption = document.createElement("figcaption");
    const name = Object.assign(document.createElement("b"), { textContent: operand.tensor });
    const part = document.createElement("span");
    const extents = shape(operand.axes.map((axis) => axis[4]));
    caption.append(`${operand.side} `, name, ` ${extents}`, document.createElement("br"), part);
    const drawing = document.createElement("div");
    figure.append(caption, drawing);
    return { figure, part, drawing, operand, kernel };
  }));
}

let figures = [];

function showLayer(step) {
  const layer = report.layers[step];
  element("layer").value = String(step);
  figures = operandFigures(layer);
  element("operands").replaceChildren(...figures.map((item) => item.figure));
  element("tile").max = String(Math.max(...layer.kernels.map(tileCount), 1) - 1);
  element("tile").value = "0";
  const cut = layer.tile.filter((part) => part.step < part.extent).map((part) => `${part.dimension} in steps of ${part.step} of ${part.extent}`);
  element("tile-text").textContent = `${layerName(step)} by ${layer.kernel}: ${cut.length ? cut.join(", ") : "one tile holds everything"}.`;
  showTile();
}

function showTile() {
  const tile = Number(element("tile").value);
  element("tile-number").textContent = `${tile} of ${Number(element("tile").max) + 1}`;
  for (const { drawing, part, operand, kernel } of figures) {
    const own = Math.min(tile, tileCount(kernel) - 1);
    part.textContent = `tile ${own}: [${partText(operand, rectangle(operand, indexBounds(kernel, own)))}]`;
    if (operand.axes.length) drawOperand(drawing, operand, kernel, own);
  }
}

if (report.layers.length) {
  element("layer").addEventListener("change", (event) => select(Number(event.target.value)));
  element("tile").addEventListener("input", showTile);
  const widest = report.layers.reduce((best, layer, step) => (layer.tiles > report.layers[best].tiles ? step : best), 0);
  showLayer(widest);
  page.themed.push(showTile);
  page.onSelect.push(showLayer);
}
