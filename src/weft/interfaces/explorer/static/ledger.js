// Why: the ledger as a table that sorts and filters, of which only the visible rows are in the document.

import { byId, count, hueOf, make } from "./dom.js";

const ROW_HEIGHT = 46;
const MARGIN_ROWS = 8;
const COLUMNS = [
  ["title", "Candidate", (row) => row.title.toLowerCase()],
  ["score", "Score", (row) => -row.score],
  ["tokens", "Tokens", (row) => -row.tokens],
  ["match", "Match", (row) => -(row.parts.relevance ?? 0)],
  ["appears", "From", (row) => row.appears ?? Infinity],
];

// What each part of a score adds to it, by the weights of its section; the largest signals where they multiply.
export function contributions(row, sections) {
  const section = sections.find((each) => each.name === row.section.split("/")[0]);
  if (!section) return [];
  return Object.entries(section.weights)
    .map(([name, weight]) => [name, (row.parts[name] ?? 0) * (section.product ? 1 : weight)])
    .filter(([, value]) => value > 0);
}

export const signalNames = (sections) => [...new Set(sections.flatMap((section) => Object.keys(section.weights)))];

export class Ledger {
  constructor(onChoose, onSort) {
    this.element = byId("ledger");
    this.onChoose = onChoose;
    this.spacer = make("div", { class: "spacer", role: "rowgroup" });
    this.head = make("div", { class: "ledger-head", role: "row" },
      ...COLUMNS.map(([name, label], number) =>
        make("span", { role: "columnheader", class: number > 1 ? "number" : "" },
          make("button", { type: "button", "data-sort": name, onclick: () => onSort(name) }, label))));
    this.element.replaceChildren(this.head, this.spacer);
    this.answer = null;
    this.order = [];
    this.chosen = -1;
    // Place and height are kept: asking for them while drawing would lay the whole page out once more.
    this.top = 0;
    this.height = this.element.clientHeight;
    this.element.addEventListener("scroll", () => { this.top = this.element.scrollTop; this.#drawVisible(); }, { passive: true });
    new ResizeObserver(() => { this.height = this.element.clientHeight; this.#drawVisible(); }).observe(this.element);
    this.spacer.addEventListener("click", (event) => {
      const entry = event.target.closest(".entry");
      if (entry) this.onChoose(Number(entry.dataset.row), -1, true);
    });
  }

  draw(answer, { sort, show, find }) {
    this.answer = answer;
    const words = find.toLowerCase().split(/\s+/).filter(Boolean);
    const matches = (row) => {
      if (show === "printed" && row.detail === "dropped") return false;
      if (show === "dropped" && row.detail !== "dropped") return false;
      if (!words.length) return true;
      const text = `${row.title} ${row.key} ${row.kind} ${row.tenant} ${row.section} ${row.detail} ${row.reason} ${row.path}`.toLowerCase();
      return words.every((word) => text.includes(word));
    };
    this.order = answer.rows.map((_, number) => number).filter((number) => matches(answer.rows[number]));
    const column = COLUMNS.find(([name]) => name === sort);
    if (column) {
      const keys = answer.rows.map(column[2]);
      // The order of the ledger breaks ties, so that the table is the same every time.
      this.order.sort((a, b) => (keys[a] < keys[b] ? -1 : keys[a] > keys[b] ? 1 : a - b));
    }
    for (const button of this.head.querySelectorAll("button")) {
      if (button.dataset.sort === sort) button.setAttribute("aria-sort", "true");
      else button.removeAttribute("aria-sort");
    }
    const worth = (row) => contributions(row, answer.sections).reduce((sum, [, value]) => sum + value, 0);
    // Not by handing all of them to Math.max, which takes only so many.
    this.most = answer.rows.reduce((most, row) => Math.max(most, worth(row)), 0.001);
    this.names = signalNames(answer.sections);
    this.spacer.style.height = `${this.order.length * ROW_HEIGHT}px`;
    this.element.setAttribute("aria-rowcount", this.order.length + 1);
    this.#drawVisible();
  }

  #drawVisible() {
    if (!this.answer) return;
    if (!this.order.length) {
      const said = this.answer.rows.length ? "No candidate matches this filter." : "No candidates were considered.";
      this.spacer.replaceChildren(make("div", { class: "none" }, said));
      return;
    }
    const first = Math.max(0, Math.min(this.order.length - 1, Math.floor(this.top / ROW_HEIGHT)) - MARGIN_ROWS);
    const last = Math.min(this.order.length, first + Math.ceil(this.height / ROW_HEIGHT) + 2 * MARGIN_ROWS);
    const entries = [];
    for (let place = first; place < last; place++) entries.push(this.#entry(this.order[place], place));
    this.spacer.replaceChildren(...entries);
  }

  #entry(number, place) {
    const row = this.answer.rows[number];
    const parts = contributions(row, this.answer.sections);
    const stack = make("span", { class: "stack", role: "cell", "aria-label": `score ${row.score}`,
      title: [`score ${row.score}`, ...Object.entries(row.parts).map(([name, value]) => `${name} ${value}`)].join("\n") });
    for (const [name, value] of parts) {
      const part = make("b", { "--hue": hueOf(this.names, name) });
      part.style.width = `${(100 * value) / this.most}%`;
      stack.append(part);
    }
    const match = row.parts.relevance === undefined ? "" : row.parts.relevance.toFixed(2);
    const entry = make("div", {
      class: `entry ${row.detail}${number === this.chosen ? " lit" : ""}`, role: "row", "data-row": number,
      id: `row-${number}`, "aria-rowindex": place + 2, title: row.reason,
    },
    make("span", { class: "name", role: "cell" }, make("span", { dir: "auto" }, row.title),
      make("small", { dir: "auto" }, `${row.kind} · ${row.detail === "dropped" ? "left out" : row.detail} · ${row.reason}`)),
    stack,
    make("span", { class: "number", role: "cell" }, row.tokens ? count(row.tokens) : "–"),
    make("span", { class: "number", role: "cell", title: "How well it matches beside the best that was found" }, match),
    make("span", { class: "number", role: "cell" }, row.appears ? count(row.appears) : ""));
    entry.style.top = `${place * ROW_HEIGHT}px`;
    return entry;
  }

  light(row, scroll) {
    this.chosen = row;
    for (const entry of this.spacer.children) entry.classList.toggle("lit", entry.dataset.row === String(row));
    const place = this.order.indexOf(row);
    if (place < 0) return;
    this.element.setAttribute("aria-activedescendant", `row-${row}`);
    if (!scroll) return;
    const top = place * ROW_HEIGHT;
    const height = this.element.clientHeight - this.head.offsetHeight;
    if (top < this.element.scrollTop) this.element.scrollTop = top;
    else if (top + ROW_HEIGHT > this.element.scrollTop + height) this.element.scrollTop = top + ROW_HEIGHT - height;
  }

  walk(by) {
    if (!this.order.length) return;
    const place = this.order.indexOf(this.chosen) + by;
    this.onChoose(this.order[Math.max(0, Math.min(this.order.length - 1, place))], -1, true);
  }

  clear() {
    this.answer = null;
    this.order = [];
    this.chosen = -1;
    this.spacer.style.height = "";
    this.spacer.replaceChildren();
  }
}
