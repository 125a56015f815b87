/* SPDX-License-Identifier: Apache-2.0 */
"use strict";
/* What all parts of the page share: the data, texts, colours, the selected layer and the search. */
const report = JSON.parse(document.getElementById("data").textContent);
const KINDS = ["intermediate", "state", "input", "output", "tile", "scratch", "constant"];
const CONFIG = { displaylogo: false, responsive: true, modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d"] };

const page = {
  query: [],
  hidden: new Set(),
  selected: null,
  themed: [], /* functions that draw again in the colours of the moment */
  onSearch: [],
  onSelect: [],
  width: null, /* of drawings while the page is printed */
};

const element = (id) => document.getElementById(id);
const number = (value) => value.toLocaleString("en-US");
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const shape = (extents) => `[${extents.join(", ")}]`;
const short = (text, most) => (text.length <= most ? text : `${text.slice(0, most / 3)}...${text.slice(text.length - (2 * most) / 3 + 3)}`);

function escaped(text) {
  return String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/* Lines of at most 72 characters for the text that follows the pointer. */
function wrapped(text) {
  return (text.match(/.{1,72}(?:\s|$)|.{1,72}/g) || [""]).map((line) => escaped(line.trim())).join("<br>");
}

function layerName(step) {
  const layer = report.layers[step];
  return layer.label === layer.name ? `${step}: ${layer.name} (${layer.operator})` : `${layer.label} (${short(layer.name, 60)})`;
}

function layerNames(steps) {
  if (steps.length > 4) return `${steps.slice(0, 3).map(layerName).join("; ")} and ${steps.length - 3} more`;
  return steps.map(layerName).join("; ");
}

/* What is known about a buffer, as [label, text] pairs. */
function bufferFacts(buffer, pool) {
  const [first, last] = buffer.steps;
  const facts = [
    ["tensor", buffer.tensor || "none"],
    ["kind", `${buffer.kind}, ${buffer.dtype}${shape(buffer.shape)}${buffer.slots > 1 ? `, ${buffer.slots} slots` : ""}`],
    ["bytes", `[${number(buffer.offset_bytes)}, ${number(buffer.offset_bytes + buffer.size_bytes)}) of ${pool.name}, ${number(buffer.size_bytes)}`],
    ["alive", `steps ${first} to ${Math.max(first, last - 1)}, ticks [${buffer.ticks[0]}, ${buffer.ticks[1]})`],
  ];
  if (buffer.written.length) facts.push(["written by", layerNames(buffer.written)]);
  if (buffer.read.length) facts.push(["read by", layerNames(buffer.read)]);
  facts.push(["why here", buffer.why.join(" ")]);
  return facts;
}

function hoverText(title, facts) {
  return `<b>${wrapped(title)}</b><br>${facts.map(([label, text]) => wrapped(`${label}: ${text}`)).join("<br>")}`;
}

function showDetails(title, facts) {
  const box = element("details").querySelector("div");
  const heading = document.createElement("h3");
  heading.textContent = title;
  const list = document.createElement("dl");
  for (const [label, text] of facts) {
    list.append(Object.assign(document.createElement("dt"), { textContent: label }));
    list.append(Object.assign(document.createElement("dd"), { textContent: text }));
  }
  box.replaceChildren(heading, list);
  element("details").hidden = false;
}

function layerLabel(step) {
  const layer = report.layers[step];
  return layer.label === layer.name ? `${step} ${layer.operator}` : layer.label;
}

const layerTexts = report.layers.map((layer) => `${layer.label} ${layer.name} ${layer.operator} ${layer.kernel}`.toLowerCase());

function bufferSearchText(buffer) {
  const users = [...new Set([...buffer.written, ...buffer.read])].map((step) => layerTexts[step]);
  return `${buffer.name} ${buffer.tensor} ${buffer.kind} ${users.join(" ")}`.toLowerCase();
}

const matches = (text) => page.query.every((word) => text.includes(word));

function select(step) {
  page.selected = step;
  for (const follow of page.onSelect) follow(step);
}

/* The part of a drawing's layout that all share; `more` wins. */
function layout(more) {
  const axis = { gridcolor: colour("grid"), zerolinecolor: colour("rule"), linecolor: colour("rule"), automargin: true };
  return {
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: colour("text"), family: "system-ui, sans-serif", size: 12 },
    hoverlabel: { bgcolor: colour("panel"), bordercolor: colour("rule"), font: { color: colour("text"), size: 12 }, align: "left" },
    modebar: { bgcolor: "rgba(0,0,0,0)", color: colour("rule"), activecolor: colour("accent") },
    margin: { l: 70, r: 20, t: 30, b: 40 },
    hovermode: "closest",
    showlegend: false,
    ...(page.width ? { width: page.width } : {}),
    ...more,
    xaxis: { ...axis, ...more.xaxis },
    yaxis: { ...axis, ...more.yaxis },
  };
}

/* Steps are the same stretch of every drawing that has them: layer n is [n - 0.5, n + 0.5]. */
const STEP_ENDS = [-0.5, Math.max(report.layers.length, 1) - 0.5];

function stepAxis(more) {
  const [minallowed, maxallowed] = STEP_ENDS;
  return { title: { text: "step" }, range: [...STEP_ENDS], tickformat: "d", minallowed, maxallowed, ...more };
}

function band(step) {
  if (step === null) return [];
  return [{ type: "rect", xref: "x", yref: "paper", x0: step - 0.5, x1: step + 0.5, y0: 0, y1: 1, layer: "below",
    line: { width: 0 }, fillcolor: colour("mark") }];
}

element("close").addEventListener("click", () => { element("details").hidden = true; });
element("search").addEventListener("input", (event) => {
  page.query = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
  clearTimeout(page.timer);
  page.timer = setTimeout(() => page.onSearch.forEach((follow) => follow()), 60);
});
const drawAgain = () => page.themed.forEach((draw) => draw());
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAgain);
addEventListener("beforeprint", () => { page.width = 680; drawAgain(); });
addEventListener("afterprint", () => { page.width = null; drawAgain(); });
