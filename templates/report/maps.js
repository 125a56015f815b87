/* SPDX-License-Identifier: Apache-2.0 */
"use strict";
/* The memory maps: the buffers of each pool over steps and addresses. */
const STEPS = Math.max(report.layers.length, 1);
const MAP = { left: 66, right: 10, top: 8, bottom: 36 };
const LETTER = 6.4; /* pixels of a letter of a label */
const maps = report.pools.filter((pool) => pool.buffers.length).map(makeMap);

function makeMap(pool) {
  const heading = html("h3", {}, pool.name);
  const drawing = html("div", { id: `map-${pool.name}`, class: "wide" });
  element("maps").append(html("div", { class: "map" }, heading, drawing));
  const map = {
    pool, drawing, texts: pool.buffers.map(bufferSearchText), covered: coveredViews(pool), zoom: 1,
    callers: report.callers.filter((buffer) => buffer.pool === pool.name && !buffer.fed),
    whole: !pool.capacity_bytes || pool.capacity_bytes <= 4 * pool.used_bytes,
  };
  const zoom = html("input", { type: "range", min: 0, max: 5, step: 0.25, value: 0, "aria-label": `width of the map of ${pool.name}` });
  zoom.addEventListener("input", () => { map.zoom = 2 ** Number(zoom.value); drawMap(map); });
  heading.append(html("label", {}, "wider ", zoom));
  if (pool.capacity_bytes && !map.whole) {
    const check = html("input", { type: "checkbox" });
    check.addEventListener("change", () => { map.whole = check.checked; drawMap(map); });
    heading.append(html("label", {}, check, ` up to the capacity, ${number(pool.capacity_bytes)} bytes`));
  }
  return map;
}

/* Views that are the whole of what they lie in would only hide it. */
function coveredViews(pool) {
  const known = new Map(pool.buffers.map((buffer) => [buffer.name, buffer]));
  const covered = (buffer) => {
    const root = known.get(buffer.inside);
    return root !== undefined && root.offset_bytes === buffer.offset_bytes && root.size_bytes === buffer.size_bytes
      && root.steps[0] === buffer.steps[0] && root.steps[1] === buffer.steps[1];
  };
  return new Set(pool.buffers.filter(covered));
}

/* The layer whose number decides a buffer's shade, so that neighbouring layers differ: its writer, else its reader. */
const layerOf = (buffer) => buffer.written[0] ?? buffer.read[0] ?? buffer.steps[0];
const bufferLabel = (buffer) => report.labels.buffers[buffer.name] ?? buffer.name;

/* A box with as much of its label as fits. */
function box(kind, shade, [x, y, width, height], label) {
  const group = part("g", { class: `box ${shade}`, "data-kind": kind, style: `--kind: var(--${kind})` },
    part("rect", { x, y, width: Math.max(width, 0.5), height: Math.max(height, 0.5) }));
  const letters = Math.floor((width - 6) / LETTER);
  if (height >= 13 && letters >= 3) group.append(text("label", x + 4, y + height / 2 + 4, label.length <= letters ? label : `${label.slice(0, letters - 1)}…`));
  return group;
}

function drawMap(map) {
  const { pool, drawing } = map;
  const caller = map.callers.reduce((total, buffer) => total + buffer.size_bytes, 0);
  const top = Math.max(1.12 * (map.whole ? Math.max(pool.capacity_bytes || 0, pool.used_bytes + caller) : pool.used_bytes + caller), 1);
  const width = Math.max(drawing.clientWidth, 280) * map.zoom;
  const height = pool.access === "rw" ? 340 : 230;
  const x = (step) => MAP.left + (step / STEPS) * (width - MAP.left - MAP.right);
  const y = (bytes) => height - MAP.bottom - (bytes / top) * (height - MAP.top - MAP.bottom);
  map.scale = { x, y, width, height, top };
  drawing.replaceChildren(canvas(width, height, part("g", { class: "band" }), axes(map.scale), ...boxes(map), ...callersBoxes(map), ...levels(map)));
  markStep(map, page.selected);
  dimMap(map);
}

function axes({ x, y, width, height, top }) {
  const group = part("g", { class: "axes" });
  for (const bytes of ticks(top, 6)) {
    group.append(line("grid", MAP.left, y(bytes), width - MAP.right, y(bytes)), text("tick", MAP.left - 6, y(bytes) + 4, number(bytes), "end"));
  }
  for (const step of ticks(STEPS - 1, Math.min(Math.max(width / 60, 1), 40))) group.append(text("tick", x(step + 0.5), height - MAP.bottom + 16, step, "middle"));
  group.append(text("tick", (MAP.left + width - MAP.right) / 2, height - 4, "step", "middle"), line("rule", MAP.left, y(0), width - MAP.right, y(0)));
  return group;
}

function boxes(map) {
  const { pool, scale: { x, y } } = map;
  return pool.buffers.flatMap((buffer, at) => {
    const [first, end] = buffer.steps;
    if (first >= end || map.covered.has(buffer)) return [];
    const area = [x(first), y(buffer.offset_bytes + buffer.size_bytes), x(end) - x(first), y(buffer.offset_bytes) - y(buffer.offset_bytes + buffer.size_bytes)];
    const node = box(buffer.kind, `shade-${layerOf(buffer) % 3}`, area, bufferLabel(buffer));
    node.setAttribute("data-buffer", at);
    return [pointed(node, () => [buffer.name, bufferFacts(buffer, pool)], () => showDetails(buffer.name, bufferFacts(buffer, pool)))];
  });
}

/* Buffers of the caller have no address in the plan: they are drawn above what it uses, as if they lay there. */
function callersBoxes({ pool, callers, scale: { x, y } }) {
  let above = pool.used_bytes;
  return callers.map((buffer) => {
    const [low, high] = [above, above + buffer.size_bytes];
    above = high;
    const facts = [["tensor", buffer.tensor || "none"], ["kind", `${buffer.kind}, ${buffer.dtype}${shape(buffer.shape)}`],
      ["bytes", number(buffer.size_bytes)], ["why here", `The caller owns it and chooses its address; it is drawn above what the plan uses of ${pool.name}.`]];
    const node = box(buffer.kind, "caller", [x(0), y(high), x(STEPS) - x(0), y(low) - y(high)], `caller's ${bufferLabel(buffer)}`);
    return pointed(node, () => [buffer.name, facts], () => showDetails(buffer.name, facts));
  });
}

/* The bytes alive, the lower bound and the capacity. */
function levels(map) {
  const { pool, scale: { x, y, width } } = map;
  const found = [];
  if (pool.access === "rw") {
    const way = pool.pressure_bytes.map((bytes, step) => `${step ? "L" : "M"}${x(step)},${y(bytes)}H${x(step + 1)}`).join("");
    found.push(part("path", { class: "level alive", d: way, "data-bytes": pool.pressure_bytes[0] ?? 0 }));
  }
  const level = (name, bytes, note, side, anchor) => found.push(
    part("path", { class: `level ${name}`, d: `M${x(0)},${y(bytes)}H${x(STEPS)}`, "data-bytes": bytes }),
    text(`note ${name}`, anchor === "end" ? width - MAP.right - 4 : MAP.left + 4, y(bytes) + side, note, anchor));
  const bound = `lower bound ${number(pool.lower_bound_bytes)}${pool.optimal ? ": reached" : ""}`;
  const capacity = pool.capacity_bytes ? `capacity ${number(pool.capacity_bytes)}` : "";
  /* Both notes stand beside each other where there is room for them. */
  const isCrowded = LETTER * (bound.length + capacity.length + 4) > width - MAP.left - MAP.right;
  level("bound", pool.lower_bound_bytes, bound, map.callers.length || isCrowded ? 13 : -4, "end");
  if (pool.capacity_bytes && map.whole) level("capacity", pool.capacity_bytes, capacity, -4, "start");
  else if (pool.capacity_bytes) found.push(text("note capacity", MAP.left + 4, MAP.top + 10, `${capacity} ↑`));
  return found;
}

function markStep({ drawing, scale: { x, height } }, step) {
  const band = step === null ? [] : [part("rect", { x: x(step), y: MAP.top, width: x(step + 1) - x(step), height: height - MAP.top - MAP.bottom })];
  drawing.querySelector(".band").replaceChildren(...band);
}

function dimMap(map) {
  for (const node of map.drawing.querySelectorAll(".box")) {
    const at = node.getAttribute("data-buffer");
    node.classList.toggle("dim", at === null ? page.query.length > 0 : !matches(map.texts[at]));
    node.style.display = page.hidden.has(node.getAttribute("data-kind")) ? "none" : "";
  }
}

function searchMaps() {
  maps.forEach(dimMap);
  const found = maps.reduce((total, map) => total + map.texts.filter(matches).length, 0);
  const layers = layerTexts.filter(matches).length;
  element("found").textContent = page.query.length ? `${number(found)} buffers, ${number(layers)} layers` : "";
}

function makeChips() {
  const present = KINDS.filter((kind) => maps.some((map) => [...map.pool.buffers, ...map.callers].some((buffer) => buffer.kind === kind)));
  for (const kind of present) {
    const check = html("input", { type: "checkbox", checked: "", value: kind });
    check.addEventListener("change", () => {
      if (check.checked) page.hidden.delete(kind); else page.hidden.add(kind);
      maps.forEach(dimMap);
    });
    element("kinds").append(html("label", {}, check, html("i", { style: `background: var(--${kind})` }), kind));
  }
}

makeChips();
const drawMaps = () => maps.forEach(drawMap);
drawMaps();
page.resized.push(drawMaps);
page.onSearch.push(searchMaps);
page.onSelect.push((step) => maps.forEach((map) => markStep(map, step)));
