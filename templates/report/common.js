/* SPDX-License-Identifier: Apache-2.0 */
"use strict";
/* What all parts of the page share: the data, texts, colours, the selected layer and the search. */
const report = JSON.parse(document.getElementById("data").textContent);
const KINDS = ["intermediate", "state", "input", "output", "tile", "scratch", "constant"];

const page = {
  query: [],
  hidden: new Set(),
  selected: null,
  resized: [], /* functions that draw again in the width of the moment */
  onSearch: [],
  onSelect: [],
};

const element = (id) => document.getElementById(id);
const number = (value) => value.toLocaleString("en-US");
const shape = (extents) => `[${extents.join(", ")}]`;
const short = (text, most) => (text.length <= most ? text : `${text.slice(0, most / 3)}...${text.slice(text.length - (2 * most) / 3 + 3)}`);

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

/* A heading and a list of [label, text] pairs. */
function described(title, facts) {
  const list = document.createElement("dl");
  for (const [label, text] of facts) list.append(html("dt", {}, label), html("dd", {}, text));
  return [html("h3", {}, title), list];
}

function showDetails(title, facts) {
  element("details").querySelector("div").replaceChildren(...described(title, facts));
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

/* What a layer computes and, where that differs, what the model as written has. */
function macsText({ macs, nominal_macs: nominal }) {
  return macs === nominal ? number(macs) : `${number(macs)} (${number(nominal)} nominal)`;
}

function layerTip(step) {
  const layer = report.layers[step];
  const facts = [["kernel", layer.kernel], ["C function", layer.function], ["MACs", macsText(layer)], ["predicted", `${number(layer.predicted_cycles)} cycles`]];
  if (layer.measured_cycles !== null) facts.push(["measured", `${number(layer.measured_cycles)} ${report.counter}`]);
  return [layerName(step), facts];
}

function html(name, attributes, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

/* A part of a drawing: an element of SVG. */
function part(name, attributes, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

function canvas(width, height, ...children) {
  return part("svg", { viewBox: `0 0 ${width} ${height}`, width, height }, ...children);
}

const line = (kind, x1, y1, x2, y2) => part("line", { class: kind, x1, y1, x2, y2 });
const text = (kind, x, y, words, anchor = "start") => part("text", { class: kind, x, y, "text-anchor": anchor }, words);

/* Round numbers from 0 to `most`, about `count` of them. */
function ticks(most, count) {
  const power = 10 ** Math.floor(Math.log10(Math.max(most / count, 1)));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= most / count);
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, at) => at * step);
}

/* What follows the pointer: `tell` gives the title and the facts of the part of a drawing below it. */
const tellers = new WeakMap();

function pointed(node, tell, choose) {
  tellers.set(node, tell);
  node.setAttribute("data-tip", "");
  if (choose) node.addEventListener("click", choose);
  return node;
}

function follow(event) {
  const tip = element("tip");
  const node = event.target.closest?.("[data-tip]");
  tip.hidden = !node;
  if (!node) return;
  if (tip.owner !== node) tip.replaceChildren(...described(...tellers.get(node)()));
  tip.owner = node;
  tip.at = [event.clientX, event.clientY];
  const { width, height } = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 6))}px`;
  tip.style.top = `${event.clientY + 16 + height < innerHeight ? event.clientY + 16 : Math.max(4, event.clientY - height - 12)}px`;
}

document.addEventListener("pointermove", follow);
/* What scrolls away from under the pointer is told no more. */
document.addEventListener("scroll", () => {
  const { at, owner } = element("tip");
  if (at && document.elementFromPoint(...at)?.closest("[data-tip]") !== owner) element("tip").hidden = true;
}, { passive: true });
element("close").addEventListener("click", () => { element("details").hidden = true; });
element("search").addEventListener("input", (event) => {
  page.query = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
  clearTimeout(page.timer);
  page.timer = setTimeout(() => page.onSearch.forEach((follow) => follow()), 60);
});
let drawnWidth = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === drawnWidth) return;
  drawnWidth = innerWidth;
  page.resized.forEach((draw) => draw());
});

const clock = element("clock");
clock.addEventListener("input", () => {
  const milliseconds = report.predicted_cycles / (1000 * Number(clock.value));
  element("time").textContent = clock.value > 0 ? `${milliseconds.toLocaleString("en-US", { maximumSignificantDigits: 3 })} ms` : "";
});
