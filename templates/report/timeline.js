/* SPDX-License-Identifier: Apache-2.0 */
"use strict";
/* When the core computes, starts copies and waits, and when each link copies: predicted cycles to the right. */
const TIME = { edge: 8, names: 190, height: 30, bar: 16 };
const KIND_NAMES = { compute: "computing", starts: "starting copies", waits: "waiting for copies", copies: "copying" };
const timelines = [["timeline", report.timeline], ...(report.compared ? [["compared-timeline", report.compared.timeline]] : [])];

const timeRow = (line, row) => (line.rows[row] === "cores" ? `${line.cores} cores` : line.rows[row].replace("->", " → "));
const layerAt = (line, step) => line.layers.find((layer) => step >= layer.first && step < layer.first + layer.stages);
const cycles = (value) => `${number(value)} cycles`;

/* What a layer is called: in the other plan only by its number there. */
const timeName = (line, layer) => (line === report.timeline ? layerLabel(layer.first) : report.compared.labels[layer.first])
  + (layer.stages > 1 ? ` and ${layer.stages - 1} more` : "");

function layerTimes(line, layer) {
  const facts = [["runs", `${number(layer.begin)} to ${number(layer.end)}, ${cycles(layer.end - layer.begin)}`]];
  if (layer.bars === null) return [...facts, ["steps", "too many to draw"]];
  for (const kind of ["compute", "starts", "waits"]) facts.push([KIND_NAMES[kind], cycles(layer[kind])]);
  return [...facts, ["links copy", `${cycles(layer.copies)}, ${number(layer.hidden)} of them beside computing`]];
}

/* The cycles that are shown: all, or those of the selected layer. Both plans keep one scale while all are shown. */
function shownCycles(line) {
  const layer = line === report.timeline && element("near").checked && page.selected !== null && layerAt(line, page.selected);
  return layer ? [layer.begin, layer.end] : [0, Math.max(...timelines.map(([, each]) => each.cycles), 1)];
}

function timeBars(line, layer, x, top, [first, last]) {
  if (layer.bars === null) return [part("rect", { class: "unknown", x: x(layer.begin), y: top, width: Math.max(x(layer.end) - x(layer.begin), 0.5), height: line.rows.length * TIME.height - 8 })];
  return layer.bars.filter(([, , begin, end]) => end > first && begin < last).map(([row, kind, begin, end, busy]) => {
    const low = x(Math.max(begin, first));
    const bar = part("rect", { class: kind, x: low, y: top + row * TIME.height, width: Math.max(x(Math.min(end, last)) - low, 0.6), height: TIME.bar, opacity: Math.max(busy, 0.25) });
    const share = busy < 1 ? `, ${Math.round(100 * busy)} % of the time` : "";
    return pointed(bar, () => [timeName(line, layer), [[timeRow(line, row), `${KIND_NAMES[kind]}, ${number(begin)} to ${number(end)}${share}`], ...layerTimes(line, layer)]], choose(line, layer));
  });
}

const choose = (line, layer) => (line === report.timeline ? () => select(layer.first) : undefined);

function timeLayer(line, layer, at, x, shown, height) {
  const [first, last] = shown;
  const low = x(Math.max(layer.begin, first));
  const width = x(Math.min(layer.end, last)) - low;
  const isChosen = line === report.timeline && page.selected !== null && layer === layerAt(line, page.selected);
  const band = part("rect", { class: `turn ${at % 2 ? "odd" : "even"}${isChosen ? " chosen" : ""}`, x: low, y: 0, width: Math.max(width, 0), height });
  pointed(band, () => [timeName(line, layer), layerTimes(line, layer)], choose(line, layer));
  const label = timeName(line, layer);
  const named = width > 6.2 * label.length ? [text("label", low + 3, 12, label)] : width > 22 ? [text("label", low + 3, 12, label.split(" ")[0])] : [];
  return part("g", { class: "of-layer" }, band, ...named, ...timeBars(line, layer, x, 20, shown));
}

function drawTimeline(id, line) {
  const drawing = element(id);
  const width = Math.max(drawing.clientWidth, 280);
  const isNarrow = width < 600; /* then names stand in the rows, not beside them */
  const left = isNarrow ? TIME.edge : TIME.names;
  const shown = shownCycles(line);
  const x = (time) => left + ((time - shown[0]) / Math.max(shown[1] - shown[0], 1)) * (width - left - TIME.edge);
  const bottom = 20 + line.rows.length * TIME.height;
  const layers = line.layers.filter((layer) => layer.end > shown[0] && layer.begin < shown[1]);
  const drawn = layers.map((layer) => timeLayer(line, layer, line.layers.indexOf(layer), x, shown, bottom));
  const names = line.rows.map((_, row) => text(isNarrow ? "tick" : "label", isNarrow ? TIME.edge + 2 : 0, (isNarrow ? 28 : 12) + 20 + row * TIME.height - (isNarrow ? 2 : 0), short(timeRow(line, row), 28)));
  const marks = ticks(shown[1] - shown[0], Math.max((width - left) / 110, 2)).map((time) => text("tick", x(shown[0] + time), bottom + 14, number(shown[0] + time), time ? "middle" : "start"));
  const last = marks.at(-1);
  if (marks.length > 1 && Number(last.getAttribute("x")) > width - 40) last.setAttribute("text-anchor", "end");
  drawing.replaceChildren(canvas(width, bottom + 20, ...drawn, ...names, ...marks));
}

const drawTimelines = () => timelines.forEach(([id, line]) => drawTimeline(id, line));

function sayHidden() {
  const known = report.timeline.layers.filter((layer) => layer.bars !== null);
  const [copied, hidden, waits] = ["copies", "hidden", "waits"].map((kind) => known.reduce((all, layer) => all + layer[kind], 0));
  element("hidden").textContent = copied ? `Links copy for ${cycles(copied)}, ${Math.round((100 * hidden) / copied)} % of that beside computing; the core waits for ${cycles(waits)}.` : "No layer copies.";
}

element("near").addEventListener("change", drawTimelines);
page.onSelect.push(drawTimelines);
page.resized.push(drawTimelines);
sayHidden();
drawTimelines();
