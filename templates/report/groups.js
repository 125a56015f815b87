/* SPDX-License-Identifier: Apache-2.0 */
"use strict";
/* When the stages of a group work: iterations to the right, a row for each stage, a box for each block. */
const STAGE = { edge: 8, names: 190, height: 22 };
const MOST_BLOCKS = 600; /* more boxes than pixels say nothing: then one box covers all blocks */

function stageBlocks({ first, every, blocks }) {
  if (every <= 1 || blocks > MOST_BLOCKS) return [[first, first + every * (blocks - 1) + 1]];
  return Array.from({ length: blocks }, (_, at) => [first + every * at, first + every * at + 1]);
}

function stageRow(stage, row, x, isNarrow) {
  const y = row * STAGE.height;
  const blocks = stageBlocks(stage).map(([begin, end]) => part("rect", { x: x(begin), y: y + 2, width: Math.max(x(end) - x(begin), 0.7), height: STAGE.height - 6 }));
  const every = stage.blocks > 1 ? `every ${stage.every}, ${number(stage.blocks)} blocks` : "once";
  const facts = [["rows", stage.rows ? `${stage.rows} of ${stage.all_rows}` : "all"], ["works", `from iteration ${stage.first}, ${every}`]];
  if (stage.ring) facts.push(["ring", `${stage.ring}: ${stage.ring_rows} rows, ${number(stage.ring_bytes)} bytes`]);
  const label = report.labels.layers[stage.layer] ?? stage.layer;
  const group = part("g", { class: `stage ${row % 2 ? "odd" : "even"}` }, ...blocks, text("label", isNarrow ? STAGE.edge + 4 : 0, y + STAGE.height - 7, isNarrow ? label : short(label, 30)));
  return pointed(group, () => [label, facts], () => select(report.layers.findIndex((layer) => layer.name === stage.layer)));
}

function drawGroups() {
  report.groups.forEach((group, at) => {
    const drawing = element(`group-${at}`);
    const width = Math.max(drawing.clientWidth, 280);
    const isNarrow = width < 600; /* then names stand in the rows, not beside them */
    const left = isNarrow ? STAGE.edge : STAGE.names;
    const x = (iteration) => left + (iteration / Math.max(group.iterations, 1)) * (width - left - STAGE.edge);
    const bottom = group.stages.length * STAGE.height;
    const marks = ticks(group.iterations, Math.max(width / 90, 2)).map((iteration) => text("tick", x(iteration), bottom + 14, iteration, "middle"));
    drawing.replaceChildren(canvas(width, bottom + 20, ...group.stages.map((stage, row) => stageRow(stage, row, x, isNarrow)), ...marks));
  });
}

drawGroups();
page.resized.push(drawGroups);
