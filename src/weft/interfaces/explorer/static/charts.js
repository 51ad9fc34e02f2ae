// A small drawing as SVG: an area that grows.

import { draw } from "./dom.js";

const WIDTH = 320;
const HEIGHT = 84;

// Points are [time, value]; runs close to each other are drawn apart, so the order counts and not the clock.
export function areaChart(points, label) {
  const most = Math.max(1, ...points.map(([, value]) => value));
  const step = WIDTH / Math.max(1, points.length - 1);
  const at = points.map(([, value], place) => `${(points.length === 1 ? WIDTH : place * step).toFixed(1)},${(HEIGHT - (HEIGHT - 8) * (value / most)).toFixed(1)}`);
  const first = points.length === 1 ? `0,${at[0].split(",")[1]} ` : "";
  return draw("svg", { class: "area", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": `${label}: from ${points[0][1]} to ${points.at(-1)[1]}` },
    draw("polygon", { points: `0,${HEIGHT} ${first}${at.join(" ")} ${WIDTH},${HEIGHT}` }),
    draw("polyline", { points: `${first}${at.join(" ")}` }));
}
