/* SPDX-License-Identifier: Apache-2.0 */
"use strict";
/* The tiles of the selected layer, drawn in the tensors that it reads and writes. */
const MOST_OUTLINES = 2000;
const TILE_EDGE = 46;
/* Half of the number below the right edge. */
const TILE_RIGHT = 22;
const TILE_BOX = { width: 280, height: 190 };

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

/* [top, bottom, left, right] of a tile in the two axes that are drawn. */
function corners(parts, [down, across]) {
  return [...(down === undefined ? [0, 1] : parts[down]), ...(across === undefined ? [0, 1] : parts[across])];
}

function outlines(operand, kernel, axes) {
  const seen = new Map();
  for (let tile = 0; tile < Math.min(tileCount(kernel), MOST_OUTLINES); tile += 1) {
    const found = corners(rectangle(operand, indexBounds(kernel, tile)), axes);
    seen.set(found.join(), found);
  }
  return [...seen.values()];
}

function partText(operand, parts) {
  return parts.map(([first, end], axis) => (first === 0 && end === operand.axes[axis][4] ? `0:${end}` : `${first}:${end} of ${operand.axes[axis][4]}`)).join(", ");
}

/* The tensor, the outlines of its tiles and the tile, in a box of TILE_BOX pixels; nearly square tensors keep their shape. */
function drawOperand(drawing, operand, kernel, tile) {
  const drawn = drawnAxes(operand, kernel);
  const axes = drawn.length === 2 ? drawn : [undefined, drawn[0]];
  const [down, across] = axes;
  const extent = (axis) => (axis === undefined ? 1 : operand.axes[axis][4]);
  const [height, width] = [extent(down), extent(across)];
  const most = { ...TILE_BOX, width: Math.min(Math.max(drawing.clientWidth - TILE_EDGE - TILE_RIGHT, 160), TILE_BOX.width) };
  const square = Math.min(most.width / width, most.height / height);
  const isSquare = down !== undefined && height < 4 * width && width < 4 * height;
  const [sx, sy] = isSquare ? [square, square] : [most.width / width, down === undefined ? 40 : most.height / height];
  const area = (kind, [top, bottom, left, right]) => part("rect", { class: kind, x: TILE_EDGE + left * sx, y: 6 + top * sy,
    width: (right - left) * sx, height: (bottom - top) * sy, "data-part": [top, bottom, left, right].join() });
  const [right, bottom] = [TILE_EDGE + width * sx, 6 + height * sy];
  const labels = [text("tick", TILE_EDGE, bottom + 14, "0", "middle"), text("tick", right, bottom + 14, width, "middle"),
    text("tick", (TILE_EDGE + right) / 2, bottom + 14, across === undefined ? "" : `axis ${across}`, "middle")];
  if (down !== undefined) labels.push(text("tick", TILE_EDGE - 4, bottom, height, "end"), text("tick", TILE_EDGE - 4, (6 + bottom) / 2 + 4, `axis ${down}`, "end"));
  const tone = operand.side === "read" ? "tile read" : "tile written";
  drawing.replaceChildren(canvas(TILE_EDGE + most.width + TILE_RIGHT, bottom + 20, area("whole", [0, height, 0, width]),
    ...outlines(operand, kernel, axes).map((found) => area("outline", found)),
    area(tone, corners(rectangle(operand, indexBounds(kernel, tile)), axes)), ...labels));
}

function operandFigures(layer) {
  return layer.kernels.flatMap((kernel) => kernel.operands.map((operand) => {
    const figure = document.createElement("figure");
    const caption = document.createElement("figcaption");
    const name = Object.assign(document.createElement("b"), { textContent: operand.label ?? operand.tensor, title: operand.tensor });
    const where = document.createElement("span");
    const extents = shape(operand.axes.map((axis) => axis[4]));
    caption.append(`${operand.side} `, name, ` ${extents}`, document.createElement("br"), where);
    const drawing = document.createElement("div");
    figure.append(caption, drawing);
    return { figure, where, drawing, operand, kernel };
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
  for (const { drawing, where, operand, kernel } of figures) {
    const own = Math.min(tile, tileCount(kernel) - 1);
    where.textContent = `tile ${own}: [${partText(operand, rectangle(operand, indexBounds(kernel, own)))}]`;
    if (operand.axes.length) drawOperand(drawing, operand, kernel, own);
  }
}

if (report.layers.length) {
  element("layer").addEventListener("change", (event) => select(Number(event.target.value)));
  element("tile").addEventListener("input", showTile);
  const widest = report.layers.reduce((best, layer, step) => (layer.tiles > report.layers[best].tiles ? step : best), 0);
  showLayer(widest);
  page.resized.push(showTile);
  page.onSelect.push(showLayer);
}
