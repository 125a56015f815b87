/* SPDX-License-Identifier: Apache-2.0 */
"use strict";
/* The layers: cycles and bytes as charts, and the table with its order and filters. */
const sum = (table) => Object.values(table).reduce((total, value) => total + value, 0);
const layerFacts = report.layers.map((layer, step) => ({
  step, name: layer.name, operator: layer.operator, kernel: layer.kernel, function: layer.function, tiles: layer.tiles, macs: layer.macs, nominal: layer.nominal_macs,
  moved: sum(layer.link_bytes), compulsory: sum(layer.compulsory_link_bytes),
  predicted: layer.predicted_cycles, measured: layer.measured_cycles,
}));

const isMeasured = layerFacts.some((layer) => layer.measured !== null);
const isInCycles = report.counter === "cycles";

/* Kernel calls, waits for copies, and the rest of what was measured; the whole where the profile has no parts. */
function measuredParts(step) {
  const { measured_cycles: whole, measured_kernel: kernel, measured_wait: wait } = report.layers[step];
  if (whole === null) return [];
  if (kernel === null || wait === null) return [["measured", whole]];
  return [["compute", kernel], ["waits", wait], ["copies", Math.max(whole - kernel - wait, 0)]];
}

/* The charts: a unit each, and the bars of a layer, each a list of [part, value]. */
const PREDICTED = ({ predicted }) => [["predicted", predicted]];
const MEASURED = ({ step }) => measuredParts(step);
const CHARTS = {
  cycles: { unit: "cycles", bars: isMeasured && isInCycles ? [PREDICTED, MEASURED] : [PREDICTED] },
  ...(isMeasured && !isInCycles ? { measured: { unit: `${report.counter} measured`, bars: [MEASURED] } } : {}),
  ...(report.links.length ? { bytes: { unit: "bytes moved", bars: [({ moved }) => [["moved", moved]], ({ compulsory }) => [["compulsory", compulsory]]] } } : {}),
};
const PARTS = { compute: "in kernel calls", waits: "in waits for copies", copies: "in starting copies and in loops" };
const total = (bar) => bar.reduce((most, [, value]) => most + value, 0);

function chartRow(layer, bars, most) {
  const tracks = bars.map((bar) => html("span", { class: "track" }, ...bar.map(([name, value]) =>
    html("i", { class: name, style: `width: ${((100 * value) / most).toFixed(3)}%` }))));
  const row = html("button", { type: "button", class: "bar", "data-step": layer.step },
    html("span", { class: "of" }, layerLabel(layer.step)), html("span", { class: "tracks" }, ...tracks),
    html("span", { class: "value" }, ...bars.map((bar) => html("span", {}, bar.length ? number(total(bar)) : "-"))));
  const facts = bars.flat().map(([name, value]) => [PARTS[name] ?? name, number(value)]);
  return pointed(row, () => [layerName(layer.step), [...facts, ["C function", report.layers[layer.step].function]]], () => select(layer.step));
}

function makeChart(id, { unit, bars }) {
  const of = layerFacts.map((layer) => ({ layer, bars: bars.map((bar) => bar(layer)) }));
  const most = Math.max(1, ...of.flatMap((item) => item.bars.map(total)));
  const first = ({ bars: [bar] }) => total(bar);
  if (element("sorted").checked) of.sort((a, b) => first(b) - first(a) || a.layer.step - b.layer.step);
  const names = [...new Set(of.flatMap((item) => item.bars.flat().map(([name]) => name)))];
  const legend = names.map((name) => html("span", {}, html("i", { class: name }), PARTS[name] ?? name));
  const caption = html("figcaption", {}, html("b", {}, unit), ...legend);
  element("charts").append(html("figure", { id, class: "chart" }, caption, html("div", { class: "scroll" }, ...of.map((item) => chartRow(item.layer, item.bars, most)))));
}

function makeCharts() {
  element("charts").replaceChildren();
  for (const [id, chart] of Object.entries(CHARTS)) makeChart(id, chart);
  markBars();
}

function markBars() {
  for (const row of element("charts").querySelectorAll(".bar")) {
    const step = Number(row.dataset.step);
    row.classList.toggle("selected", step === page.selected);
    row.classList.toggle("dim", !matches(layerTexts[step]));
  }
}

const rows = [...document.querySelectorAll("#table tbody tr")];

function filterRows() {
  const operator = element("operator").value;
  const cut = element("cut").checked;
  for (const row of rows) {
    const layer = layerFacts[row.dataset.step];
    row.hidden = !matches(layerTexts[layer.step]) || (operator !== "" && layer.operator !== operator) || (cut && layer.tiles < 2);
  }
}

function sortRows(heading) {
  const { key } = heading.dataset;
  const descending = heading.getAttribute("aria-sort") === "ascending"
    || (heading.classList.contains("n") && key !== "step" && !heading.hasAttribute("aria-sort"));
  for (const other of document.querySelectorAll("#table th")) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
  const value = (row) => layerFacts[row.dataset.step][key];
  const compare = (a, b) => (typeof a === "string" ? a.localeCompare(b, "en") : (a ?? -1) - (b ?? -1));
  const sorted = [...rows].sort((a, b) => (descending ? compare(value(b), value(a)) : compare(value(a), value(b))) || a.dataset.step - b.dataset.step);
  document.querySelector("#table tbody").replaceChildren(...sorted);
}

for (const heading of document.querySelectorAll("#table th[data-key]")) heading.addEventListener("click", () => sortRows(heading));
for (const row of rows) {
  const choose = () => select(Number(row.dataset.step));
  row.addEventListener("click", choose);
  row.addEventListener("keydown", (event) => { if (event.key === "Enter") choose(); });
}
element("operator").addEventListener("change", filterRows);
element("cut").addEventListener("change", filterRows);
element("sorted").addEventListener("change", makeCharts);
makeCharts();
page.onSearch.push(filterRows, markBars);
page.onSelect.push((step) => {
  for (const row of rows) row.classList.toggle("selected", Number(row.dataset.step) === step);
  markBars();
});
