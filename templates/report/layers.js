/* SPDX-License-Identifier: Apache-2.0 */
"use strict";
/* The layers: cycles and bytes as charts, and the table with its order and filters. */
const sum = (table) => Object.values(table).reduce((total, value) => total + value, 0);
const layerFacts = report.layers.map((layer, step) => ({
  step, name: layer.name, operator: layer.operator, kernel: layer.kernel, tiles: layer.tiles, macs: layer.macs,
  moved: sum(layer.link_bytes), compulsory: sum(layer.compulsory_link_bytes),
  predicted: layer.predicted_cycles, measured: layer.measured_cycles,
}));

function columns(name, key, tone) {
  return {
    type: "bar", name, x: layerFacts.map((layer) => layer.step), y: layerFacts.map((layer) => layer[key]),
    marker: { color: colour(tone) },
    hovertext: layerFacts.map((layer) => `<b>${wrapped(layerName(layer.step))}</b><br>${name}: ${layer[key] === null ? "unknown" : number(layer[key])}`),
    hovertemplate: "%{hovertext}<extra></extra>",
  };
}

function drawChart(id, title, traces) {
  return Plotly.react(element(id), traces, layout({
    height: 230, barmode: "group", bargap: 0.15, showlegend: true, legend: { orientation: "h", x: 0, y: 1.16 },
    xaxis: stepAxis({}), yaxis: { title: { text: title }, rangemode: "tozero", tickformat: "~s" },
    shapes: band(page.selected),
  }), CONFIG).then(() => {
    if (element(id).listens) return;
    element(id).listens = true;
    element(id).on("plotly_click", ({ points: [point] }) => select(point.x));
  });
}

function drawCharts() {
  const cycles = [columns("predicted", "predicted", "intermediate")];
  if (layerFacts.some((layer) => layer.measured !== null)) cycles.push(columns("measured", "measured", "scratch"));
  drawChart("cycles", "cycles", cycles);
  if (report.links.length) drawChart("bytes", "bytes moved", [columns("moved", "moved", "tile"), columns("compulsory", "compulsory", "constant")]);
  else element("bytes").hidden = true;
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
drawCharts();
page.themed.push(drawCharts);
page.onSearch.push(filterRows);
page.onSelect.push((step) => {
  for (const row of rows) row.classList.toggle("selected", Number(row.dataset.step) === step);
  for (const id of report.links.length ? ["cycles", "bytes"] : ["cycles"]) Plotly.relayout(element(id), { shapes: band(step) });
});
