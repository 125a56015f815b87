/* SPDX-License-Identifier: Apache-2.0 */
"use strict";
/* The memory maps: the buffers of each pool over steps and addresses. */
const maps = report.pools.filter((pool) => pool.buffers.length).map(makeMap);

function makeMap(pool) {
  const box = document.createElement("div");
  box.className = "map";
  const heading = document.createElement("h3");
  heading.append(pool.name);
  const drawing = document.createElement("div");
  drawing.id = `map-${pool.name}`;
  box.append(heading, drawing);
  element("maps").append(box);
  const texts = pool.buffers.map(bufferSearchText);
  const map = { pool, drawing, texts, whole: !pool.capacity_bytes || pool.capacity_bytes <= 4 * pool.used_bytes };
  if (pool.capacity_bytes && !map.whole) {
    const label = document.createElement("label");
    const check = Object.assign(document.createElement("input"), { type: "checkbox" });
    check.addEventListener("change", () => { map.whole = check.checked; drawMap(map); });
    label.append(check, ` up to the capacity, ${number(pool.capacity_bytes)} bytes`);
    heading.append(label);
  }
  return map;
}

/* Views that are the whole of what they lie in would only hide it. */
function isCovered(buffer, pool) {
  const root = pool.buffers.find((other) => other.name === buffer.inside);
  return root !== undefined && root.offset_bytes === buffer.offset_bytes && root.size_bytes === buffer.size_bytes
    && root.steps[0] === buffer.steps[0] && root.steps[1] === buffer.steps[1];
}

function barTrace(map, kind) {
  const shown = map.pool.buffers.map((buffer, at) => ({ buffer, at }))
    .filter(({ buffer }) => buffer.kind === kind && buffer.steps[0] < buffer.steps[1] && !isCovered(buffer, map.pool));
  const length = ({ buffer }) => buffer.steps[1] - buffer.steps[0];
  return {
    type: "bar",
    name: kind,
    visible: !page.hidden.has(kind),
    x: shown.map((item) => item.buffer.steps[0] + length(item) / 2 - 0.5),
    width: shown.map(length),
    base: shown.map(({ buffer }) => buffer.offset_bytes),
    y: shown.map(({ buffer }) => buffer.size_bytes),
    customdata: shown.map(({ at }) => at),
    hovertext: shown.map(({ buffer }) => hoverText(buffer.name, bufferFacts(buffer, map.pool))),
    hovertemplate: "%{hovertext}<extra></extra>",
    marker: { color: colour(kind), line: { color: colour("page"), width: shown.length > 200 ? 0.25 : 1 }, opacity: opacities(map, shown) },
  };
}

const opacities = (map, shown) => shown.map(({ at }) => (matches(map.texts[at]) ? 1 : 0.1));

function lines(pool) {
  const flat = (name, value, dash, tone) => ({
    type: "scatter", mode: "lines", name, x: STEP_ENDS, y: [value, value], line: { color: colour(tone), dash, width: 1.6 },
    hovertemplate: `${name}: ${number(value)} bytes<extra></extra>`,
  });
  const found = [];
  if (pool.access === "rw") {
    found.push({
      type: "scatter", mode: "lines", name: "alive", x: pool.pressure_bytes.map((_, step) => step), y: pool.pressure_bytes,
      line: { color: colour("pressure"), width: report.layers.length > 100 ? 0.5 : 1, shape: "hvh" }, hovertemplate: "step %{x}: %{y:,} bytes alive<extra></extra>",
    });
  }
  found.push(flat("lower bound", pool.lower_bound_bytes, "dot", "bound"));
  if (pool.capacity_bytes) found.push(flat("capacity", pool.capacity_bytes, "dash", "capacity"));
  return found;
}

function notes(map) {
  const { pool } = map;
  const note = (text, y, tone, anchor) => ({ text, x: 1, xref: "paper", xanchor: "right", y, yanchor: anchor, showarrow: false,
    font: { color: colour(tone), size: 11 }, bgcolor: colour("page"), opacity: 0.9 });
  const bound = note(`lower bound ${number(pool.lower_bound_bytes)}${pool.optimal ? ": reached" : ""}`, pool.lower_bound_bytes, "bound", "bottom");
  if (!pool.capacity_bytes) return [bound];
  if (map.whole) {
    const apart = pool.capacity_bytes > 1.08 * pool.lower_bound_bytes;
    return [{ ...bound, yanchor: apart ? "bottom" : "top" }, note(`capacity ${number(pool.capacity_bytes)}`, pool.capacity_bytes, "capacity", "bottom")];
  }
  return [bound, { ...note(`capacity ${number(pool.capacity_bytes)} ↑`, 1, "capacity", "top"), yref: "paper", x: 0, xanchor: "left" }];
}

function drawMap(map) {
  const { pool } = map;
  const top = 1.1 * (map.whole ? Math.max(pool.capacity_bytes || 0, pool.used_bytes) : pool.used_bytes);
  const traces = [...KINDS.map((kind) => barTrace(map, kind)).filter((trace) => trace.x.length), ...lines(pool)];
  map.traces = traces;
  return Plotly.react(map.drawing, traces, layout({
    height: pool.access === "rw" ? 360 : 240,
    barmode: "overlay",
    xaxis: stepAxis({}),
    yaxis: { title: { text: "bytes" }, range: [0, Math.max(top, 1)], tickformat: ",d", rangemode: "tozero" },
    shapes: band(page.selected),
    annotations: notes(map),
  }), CONFIG).then(() => listen(map));
}

function listen(map) {
  if (map.listens) return;
  map.listens = true;
  map.drawing.on("plotly_click", ({ points: [point] }) => {
    if (point.customdata === undefined) return;
    const buffer = map.pool.buffers[point.customdata];
    showDetails(buffer.name, bufferFacts(buffer, map.pool));
  });
}

function dimMaps() {
  let found = 0;
  for (const map of maps) {
    found += map.texts.filter(matches).length;
    const bars = map.traces.map((trace, at) => at).filter((at) => map.traces[at].type === "bar");
    const values = bars.map((at) => opacities(map, map.traces[at].customdata.map((item) => ({ at: item }))));
    Plotly.restyle(map.drawing, { "marker.opacity": values }, bars);
  }
  const layers = layerTexts.filter(matches).length;
  element("found").textContent = page.query.length ? `${number(found)} buffers, ${number(layers)} layers` : "";
}

function makeChips() {
  const present = KINDS.filter((kind) => maps.some((map) => map.pool.buffers.some((buffer) => buffer.kind === kind)));
  for (const kind of present) {
    const label = document.createElement("label");
    const check = Object.assign(document.createElement("input"), { type: "checkbox", checked: true, value: kind });
    const patch = document.createElement("i");
    patch.style.background = `var(--${kind})`;
    check.addEventListener("change", () => {
      if (check.checked) page.hidden.delete(kind); else page.hidden.add(kind);
      for (const map of maps) {
        const at = map.traces.findIndex((trace) => trace.name === kind && trace.type === "bar");
        if (at >= 0) Plotly.restyle(map.drawing, { visible: check.checked }, [at]);
      }
    });
    label.append(check, patch, kind);
    element("kinds").append(label);
  }
}

makeChips();
const drawMaps = () => maps.forEach(drawMap);
drawMaps();
page.themed.push(drawMaps);
page.onSearch.push(dimMaps);
page.onSelect.push((step) => maps.forEach((map) => Plotly.relayout(map.drawing, { shapes: band(step) })));
