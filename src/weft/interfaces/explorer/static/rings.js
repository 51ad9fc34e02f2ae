// Nodes in rings around one of them: the same input is drawn the same every time.

import { hueOf } from "./dom.js";
import { draw } from "./charts.js";

const SIZE = 640;
const RING = [0, 135, 235, 292];
const LABEL_CHARACTERS = 20;
const LABEL_WIDTH = 130;
const MOST_LABELS = 34;

// Lines have colours where the types of edges are given. Nodes have a ring and, but for the first, the place of the node that they were reached from.
export function drawRings(nodes, edges, onChoose, types = []) {
  const kinds = [...new Set(nodes.map((node) => node.kind))].sort();
  const angles = spread(nodes);
  const at = nodes.map((node, place) => {
    const radius = RING[Math.min(node.ring, RING.length - 1)];
    return [SIZE / 2 + radius * Math.cos(angles[place]), SIZE / 2 + radius * Math.sin(angles[place])];
  });
  const lines = edges.map((edge) => {
    const [[x1, y1], [x2, y2]] = [at[edge.source], at[edge.target]];
    return draw("line", { x1: x1.toFixed(1), y1: y1.toFixed(1), x2: x2.toFixed(1), y2: y2.toFixed(1), "--hue": hueOf(types, edge.type),
      class: lineClass(nodes, edge, types) },
      draw("title", {}, `${nodes[edge.source].title} – ${edge.type} → ${nodes[edge.target].title}`));
  });
  const marks = nodes.map((node, place) => mark(node, place, at[place], angles[place], hueOf(kinds, node.kind), nodes.length, onChoose));
  const rings = RING.slice(1, 1 + Math.max(...nodes.map((node) => node.ring))).map((radius) => draw("circle", { class: "ring", cx: SIZE / 2, cy: SIZE / 2, r: radius }));
  // Cut to the outermost ring that is there, with room for labels at both sides.
  const reach = RING[Math.min(RING.length - 1, Math.max(1, ...nodes.map((node) => node.ring)))] + 26;
  const box = [SIZE / 2 - reach - LABEL_WIDTH, SIZE / 2 - reach, 2 * (reach + LABEL_WIDTH), 2 * reach];
  return draw("svg", { class: "rings", viewBox: box.join(" "), role: "group", "aria-label": `${nodes.length} items around ${nodes[0].title}` }, ...rings, ...lines, ...marks);
}

// Links by which nodes were reached stand out; the many others between them are only hinted at.
function lineClass(nodes, { source, target }, types) {
  const isWay = nodes[source].parent === target || nodes[target].parent === source || source === 0 || target === 0;
  const isFaint = nodes[source].dropped || nodes[target].dropped;
  return `${types.length ? "typed" : ""}${isWay ? "" : " other"}${isFaint ? " faint" : ""}`;
}

// Children stand near the node that they were reached from; each has room by the number of its own children.
function spread(nodes) {
  const children = nodes.map(() => []);
  nodes.forEach((node, place) => { if (place) children[node.parent ?? 0].push(place); });
  const weight = nodes.map(() => 1);
  for (let place = nodes.length - 1; place > 0; place--) weight[nodes[place].parent ?? 0] += weight[place];
  const angles = nodes.map(() => 0);
  const lay = (place, from, to) => {
    angles[place] = (from + to) / 2;
    const whole = children[place].reduce((sum, child) => sum + weight[child], 0);
    let begin = from;
    for (const child of children[place]) {
      const end = begin + ((to - from) * weight[child]) / whole;
      lay(child, begin, end);
      begin = end;
    }
  };
  lay(0, -Math.PI / 2, 1.5 * Math.PI);
  return angles;
}

function mark(node, place, [x, y], angle, hue, all, onChoose) {
  const label = node.title.length > LABEL_CHARACTERS ? `${node.title.slice(0, LABEL_CHARACTERS - 1)}…` : node.title;
  const isRight = Math.cos(angle) >= -0.01;
  const choose = () => onChoose(node);
  const text = all <= MOST_LABELS || node.ring < 2
    ? draw("text", { x: (place === 0 ? x : x + (isRight ? 11 : -11)).toFixed(1), y: (place === 0 ? y - 15 : y + 4).toFixed(1), "text-anchor": place === 0 ? "middle" : isRight ? "start" : "end" }, label)
    : null;
  return draw("g", {
    class: `mark${node.dropped ? " faint" : ""}${place === 0 ? " centre" : ""}`, "--hue": hue, tabindex: "0", role: "button", "aria-label": `${node.title}, ${node.kind}${node.says ? `, ${node.says}` : ""}`,
    onclick: choose, onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(); } },
  }, draw("title", {}, `${node.title}\n${node.kind}${node.says ? `\n${node.says}` : ""}`), draw("circle", { cx: x.toFixed(1), cy: y.toFixed(1), r: place === 0 ? 9 : node.ring === 1 ? 6.5 : 5 }), text);
}
