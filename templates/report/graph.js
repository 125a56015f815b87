/* SPDX-License-Identifier: Apache-2.0 */
"use strict";
/* The layers and the tensors between them. */
const nodeKinds = report.graph.nodes.map((node) => node.kind);
const nodeTexts = report.graph.nodes.map((node) => (node.layer === null ? node.name.toLowerCase() : layerTexts[node.layer]));

function nodeHover(node) {
  if (node.layer === null) return `<b>${wrapped(node.name)}</b><br>${node.kind}`;
  const layer = layerFacts[node.layer];
  return `<b>${wrapped(layerName(node.layer))}</b><br>${escaped(layer.kernel)}<br>${number(layer.macs)} MACs, ${number(layer.predicted)} cycles predicted, ${number(layer.tiles)} tiles`;
}

function edgeTraces() {
  const line = { x: [], y: [] };
  const middle = { x: [], y: [], text: [] };
  for (const edge of report.graph.edges) {
    for (const [x, y] of edge.way) { line.x.push(x); line.y.push(y); }
    line.x.push(null);
    line.y.push(null);
    const [a, b] = edge.way.slice(edge.way.length > 2 ? 1 : 0);
    middle.x.push((a[0] + b[0]) / 2);
    middle.y.push((a[1] + b[1]) / 2);
    middle.text.push(hoverText(edge.tensor, [["shape", shape(edge.shape)], ["bytes", number(edge.size_bytes)]]));
  }
  return [
    { type: "scatter", mode: "lines", x: line.x, y: line.y, line: { color: colour("quiet"), width: 1.2 }, hoverinfo: "skip" },
    { type: "scatter", mode: "markers", x: middle.x, y: middle.y, hovertext: middle.text, hovertemplate: "%{hovertext}<extra></extra>",
      marker: { color: colour("quiet"), size: 5 } },
  ];
}

function nodeStyle() {
  const tones = { input: colour("input"), output: colour("output"), layer: colour("intermediate") };
  return {
    "marker.color": [report.graph.nodes.map((node) => (node.layer !== null && node.layer === page.selected ? colour("scratch") : tones[node.kind]))],
    "marker.opacity": [nodeTexts.map((text) => (matches(text) ? 1 : 0.15))],
  };
}

function nodeTrace() {
  const style = nodeStyle();
  return {
    type: "scatter", mode: "markers+text", x: report.graph.nodes.map((node) => node.at[0]), y: report.graph.nodes.map((node) => node.at[1]),
    text: report.graph.nodes.map((node) => escaped(node.layer === null ? short(node.name, 26) : layerLabel(node.layer))),
    textposition: report.graph.nodes.map((node) => (node.at[0] > 0 ? "middle right" : "middle left")), textfont: { size: 11 }, cliponaxis: false,
    customdata: report.graph.nodes.map((node) => node.layer), hovertext: report.graph.nodes.map(nodeHover), hovertemplate: "%{hovertext}<extra></extra>",
    marker: { size: 13, symbol: nodeKinds.map((kind) => (kind === "layer" ? "circle" : "square")), color: style["marker.color"][0],
      opacity: style["marker.opacity"][0], line: { color: colour("page"), width: 1 } },
  };
}

function drawGraph() {
  const across = report.graph.nodes.map((node) => node.at[0]).concat(report.graph.edges.flatMap((edge) => edge.way.map((point) => point[0])));
  const lowest = Math.max(...report.graph.nodes.map((node) => node.at[1]));
  const left = Math.min(...across);
  const right = Math.max(...across);
  const hidden = { visible: false, fixedrange: true };
  const width = Math.max(page.width || element("network").parentElement.clientWidth - 20, page.width || 150 * (right - left + 1));
  return Plotly.react(element("network"), [...edgeTraces(), nodeTrace()], layout({
    height: 34 * (lowest + 1) + 40, width, margin: { l: 20, r: 20, t: 20, b: 20 },
    xaxis: { ...hidden, range: [left - 1.2, Math.max(right + 1.2, left + 3)] }, yaxis: { ...hidden, range: [lowest + 0.6, -0.6] },
  }), { ...CONFIG, responsive: false, displayModeBar: false }).then(() => {
    if (element("network").listens) return;
    element("network").listens = true;
    element("network").on("plotly_click", ({ points: [point] }) => {
      if (point.customdata !== undefined && point.customdata !== null) select(point.customdata);
    });
  });
}

const restyleNodes = () => Plotly.restyle(element("network"), nodeStyle(), [2]);
if (report.graph.nodes.length) {
  drawGraph();
  page.themed.push(drawGraph);
  page.onSearch.push(restyleNodes);
  page.onSelect.push(restyleNodes);
}
