// Make elements. Text always becomes a text node: stored text is never read as HTML.

export const byId = (id) => document.getElementById(id);

const SVG = "http://www.w3.org/2000/svg";

export const make = (tag, attributes, ...children) => build(document.createElement(tag), attributes, children);

export const draw = (tag, attributes, ...children) => build(document.createElementNS(SVG, tag), attributes, children);

function build(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name.startsWith("--")) element.style.setProperty(name, value);
    else element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

const NUMBERS = new Intl.NumberFormat("en");

export const count = (number) => NUMBERS.format(number);

export const plural = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;

// A node is known by its tenant and key.
export const refOf = ({ tenant, key }) => `${tenant}\n${key}`;

// The signs before what happened to an item from one page to another.
export const SIGNS = { appeared: "+", vanished: "−", changed: "~", moved: "↕", same: "=" };

const HUES = [255, 155, 45, 320, 200, 95, 20, 285];

// The colour of a section or signal: the same name has the same colour in every view.
export function hueOf(names, name) {
  return HUES[Math.max(0, names.indexOf(name)) % HUES.length];
}

// The language that decides how Han characters look; others need none.
export function langOf(text) {
  if (!/[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]/.test(text)) return null;
  if (/[\u3040-\u30ff]/.test(text)) return "ja";
  return /[\uac00-\ud7af]/.test(text) ? "ko" : "zh";
}

let hiding = 0;

export function announce(text) {
  const status = byId("status");
  status.textContent = text;
  status.classList.add("on");
  clearTimeout(hiding);
  hiding = setTimeout(() => status.classList.remove("on"), 1600);
}
