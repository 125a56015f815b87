/* SPDX-License-Identifier: Apache-2.0 */
"use strict";
/* The layers and the tensors between them. */
const nodeKinds = report.graph.nodes.map((node) => node.kind);
const nodeTexts = report.graph.nodes.map((node) => (node.layer === null ? node.name.toLowerCase() : layerTexts[node.layer]));

const STEP_DOWN = 34;
const STEP_ACROSS = 150;
const MOST_CYCLES = Math.max(1, ...report.layers.map((layer) => layer.predicted_cycles));

const nodeTip = (node) => (node.layer === null ? [node.name, [["kind", node.kind]]] : layerTip(node.layer));

function edgeParts(edge, at) {
  const way = part("polyline", { class: "edge", points: edge.way.map((point) => at(point).join()).join(" ") });
  const [a, b] = edge.way.slice(edge.way.length > 2 ? 1 : 0).map(at);
  const dot = part("circle", { class: "tensor", cx: (a[0] + b[0]) / 2, cy: (a[1] + b[1]) / 2, r: 3 });
  const isStraight = edge.way.length === 2 && a[0] === b[0];
  const words = isStraight ? [text("tick", a[0] + 9, (a[1] + b[1]) / 2 + 3, short(`${edge.shape.join("x")} ${number(edge.size_bytes)} B`, 22))] : [];
  return [way, ...words, pointed(dot, () => [edge.tensor, [["shape", shape(edge.shape)], ["bytes", number(edge.size_bytes)]]])];
}

function nodePart(node, number, at) {
  const [x, y] = at(node.at);
  const mark = node.layer === null ? part("rect", { x: x - 6, y: y - 6, width: 12, height: 12 }) : part("circle", { cx: x, cy: y, r: 7 });
  const name = node.layer === null ? short(node.name, 26) : layerLabel(node.layer);
  const words = node.at[0] > 0 ? text("label", x + 11, y + 4, name) : text("label", x - 11, y + 4, name, "end");
  const heat = node.layer === null ? 0 : (100 * report.layers[node.layer].predicted_cycles) / MOST_CYCLES;
  const group = part("g", { class: `node ${nodeKinds[number]}`, "data-node": number, style: `--heat: ${heat.toFixed(1)}%` }, mark, words);
  return pointed(group, () => nodeTip(node), () => { if (node.layer !== null) select(node.layer); });
}

function drawGraph() {
  const across = report.graph.nodes.map((node) => node.at[0]).concat(report.graph.edges.flatMap((edge) => edge.way.map((point) => point[0])));
  const left = Math.min(...across);
  const right = Math.max(...across);
  const names = report.graph.nodes.map((node) => (node.layer === null ? short(node.name, 26) : layerLabel(node.layer)).length);
  const margin = Math.max(1.2, (Math.max(...names) * LETTER + 20) / STEP_ACROSS);
  const width = STEP_ACROSS * (right - left + 2 * margin);
  const height = STEP_DOWN * (Math.max(...report.graph.nodes.map((node) => node.at[1])) + 1.4);
  const at = ([x, y]) => [STEP_ACROSS * (x - left + margin), STEP_DOWN * (y + 0.7)];
  element("network").replaceChildren(canvas(width, height, ...report.graph.edges.flatMap((edge) => edgeParts(edge, at)),
    ...report.graph.nodes.map((node, number) => nodePart(node, number, at))));
}

function markNodes() {
  for (const node of element("network").querySelectorAll(".node")) {
    const at = Number(node.dataset.node);
    const { layer } = report.graph.nodes[at];
    node.classList.toggle("selected", layer !== null && layer === page.selected);
    node.classList.toggle("dim", !matches(nodeTexts[at]));
  }
}

if (report.graph.nodes.length) {
  drawGraph();
  page.onSearch.push(markNodes);
  page.onSelect.push(markNodes);
}
