// Nodes in rings around one of them: the same input is drawn the same every time.

import { draw, hueOf } from "./dom.js";

// The largest radius in pixels, of one ring and of two.
const MOST_RADIUS = [180, 235];
// Room around the outermost marks, and for each letter of a label, in pixels.
const MARGIN = 24;
const LETTER = 6.6;
const MOST_LETTERS = 20;
const LEAST_LETTERS = 9;
const LINE_HEIGHT = 15;
const NARROW = 560;
// Where the label of the middle may stand, above its mark or below; its letters are wider, and marks keep this distance.
const CENTRE_HEIGHTS = [-15, 25];
const CENTRE_LETTER = 9.2;
const MARK_ROOM = 14;
// With more nodes only the inner ring has labels; pointing at the others shows theirs.
const MOST_LABELS = 34;

// Draw in pixels for a given width. Lines have colours where the types of edges are given. Nodes have a ring and, but for the first, the place of the node that they were reached from.
export function drawRings(nodes, edges, onChoose, width, types = []) {
  const kinds = [...new Set(nodes.map((node) => node.kind))].sort();
  const shape = measure(nodes, width);
  const angles = spread(nodes);
  const at = nodes.map((node, place) => [shape.radius(node.ring) * Math.cos(angles[place]), shape.tall * shape.radius(node.ring) * Math.sin(angles[place])]);
  const heights = labelHeights(nodes, at, angles, shape);
  const lines = edges.map((edge) => {
    const [[x1, y1], [x2, y2]] = [at[edge.source], at[edge.target]];
    return draw("line", { x1: x1.toFixed(1), y1: y1.toFixed(1), x2: x2.toFixed(1), y2: y2.toFixed(1), "--hue": hueOf(types, edge.type),
      class: lineClass(nodes, edge, types) },
      draw("title", {}, `${nodes[edge.source].title} – ${edge.type} → ${nodes[edge.target].title}`));
  });
  const centre = centreLabel(at);
  heights[0] = centre.height;
  const marks = nodes.flatMap((node, place) => mark(node, place, at[place], heights[place], angles[place], hueOf(kinds, node.kind), place ? shape.letters(node.ring) : centre.letters, shape, onChoose));
  const rings = Array.from({ length: shape.outermost }, (_, ring) => draw("ellipse", { class: "ring", cx: 0, cy: 0, rx: shape.radius(ring + 1).toFixed(1), ry: (shape.tall * shape.radius(ring + 1)).toFixed(1) }));
  const height = Math.round(2 * (shape.tall * shape.radius(shape.outermost) + MARGIN));
  return draw("svg", { class: "rings", width, height, viewBox: [-width / 2, -height / 2, width, height].join(" "), role: "group", "aria-label": `${nodes.length} items around ${nodes[0].title}` }, ...rings, ...lines, ...marks);
}

// The radius of each ring, which of them have labels, and how many letters of a label there is room for.
function measure(nodes, width) {
  const outermost = Math.max(1, ...nodes.map((node) => node.ring));
  const labelled = outermost > 1 && nodes.length > MOST_LABELS ? 1 : outermost;
  const letters = (room) => Math.max(LEAST_LETTERS, Math.min(MOST_LETTERS, Math.floor(room / LETTER)));
  // Labels of the outermost ring stand outside of it; those of an inner one lie over the next.
  const outside = labelled < outermost ? MARGIN : LETTER * letters(width / 6) + MARGIN;
  const reach = Math.min(MOST_RADIUS[Math.min(outermost, 2) - 1], width / 2 - outside);
  const radius = (ring) => (ring === 0 ? 0 : outermost === 1 || ring >= 2 ? reach : 0.6 * reach);
  // Where there is little width, rings are taller than wide, so that labels stand apart.
  const tall = width < NARROW ? 1.35 : 1;
  return { outermost, labelled, radius, tall, letters: (ring) => letters(width / 2 - radius(ring) - MARGIN) };
}

// Where the labels stand: beside their marks, moved down where one would cover another of its side.
function labelHeights(nodes, at, angles, shape) {
  const heights = at.map(([, y]) => y);
  for (const side of [true, false]) {
    const places = nodes.map((_, place) => place).filter((place) => place && nodes[place].ring <= shape.labelled && isRight(angles[place]) === side);
    places.sort((a, b) => heights[a] - heights[b] || a - b);
    places.forEach((place, order) => { if (order) heights[place] = Math.max(heights[place], heights[places[order - 1]] + LINE_HEIGHT); });
  }
  return heights;
}

// Where the label of the middle stands, and how many letters fit between the marks beside it: none where they stand close. The chosen item is named above the drawing as well.
function centreLabel(at) {
  const places = CENTRE_HEIGHTS.map((height) => {
    const beside = at.slice(1).filter(([, y]) => Math.abs(y - (height - 4)) < LINE_HEIGHT);
    const room = Math.min(...beside.map(([x]) => Math.abs(x) - MARK_ROOM), (MOST_LETTERS * CENTRE_LETTER) / 2);
    const letters = Math.floor((2 * room) / CENTRE_LETTER);
    return { height: height - 4, letters: letters < LEAST_LETTERS ? 0 : letters };
  });
  return places[1].letters > places[0].letters ? places[1] : places[0];
}

const isRight = (angle) => Math.cos(angle) >= -0.01;

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

// Return the mark of a node, and its label where there is one.
function mark(node, place, [x, y], labelHeight, angle, hue, letters, shape, onChoose) {
  const label = node.title.length > letters ? (letters ? `${node.title.slice(0, letters - 1)}…` : "") : node.title;
  const side = isRight(angle);
  const choose = () => onChoose(node);
  const kind = `${node.dropped ? " faint" : ""}${place === 0 ? " centre" : ""}`;
  // Beside the mark and not in it: a shortened label is not what a screen reader should say.
  const text = draw("text", { class: `label${kind}`, "aria-hidden": "true", onclick: choose, x: (place === 0 ? x : x + (side ? 11 : -11)).toFixed(1),
    y: (labelHeight + 4).toFixed(1), "text-anchor": place === 0 ? "middle" : side ? "start" : "end" }, label);
  const button = draw("g", {
    class: `mark${kind}`, "--hue": hue, tabindex: "0", role: "button", "aria-label": `${node.title}, ${node.kind}${node.says ? `, ${node.says}` : ""}`,
    onclick: choose, onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(); } },
  }, draw("title", {}, `${node.title}\n${node.kind}${node.says ? `\n${node.says}` : ""}`), draw("circle", { cx: x.toFixed(1), cy: y.toFixed(1), r: place === 0 ? 9 : node.ring === 1 ? 6.5 : 5 }));
  return node.ring <= shape.labelled ? [text, button] : [button];
}
