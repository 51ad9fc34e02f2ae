// One bar of where the tokens of a page went, what moved between sections, and what more tokens would bring.

import { byId, count, hueOf, make } from "./dom.js";

const GAINS_NAMED = 3;

const sectionOf = (row) => row.section.split("/")[0];

export class Spending {
  constructor(onChoose) {
    this.bar = byId("bar");
    this.legend = byId("legend");
    this.segments = new Map();
    const choose = (event, fixed) => {
      const row = event.target.dataset.row;
      if (row !== undefined) onChoose(Number(row), -1, fixed);
    };
    this.bar.addEventListener("mouseover", (event) => choose(event, false));
    this.bar.addEventListener("click", (event) => choose(event, true));
  }

  draw(answer) {
    const names = answer.sections.map((section) => section.name);
    const whole = Math.max(answer.max_tokens ?? answer.tokens, answer.tokens, 1);
    this.segments.clear();
    const counted = answer.rows.reduce((sum, row) => sum + row.tokens, 0);
    const scale = Math.min(1, answer.tokens / Math.max(1, counted));
    const segments = [];
    const add = (tokens, attributes, row) => {
      const segment = make("div", attributes);
      segment.style.width = `${(100 * tokens) / whole}%`;
      segments.push(segment);
      if (row !== undefined) this.segments.set(row, segment);
    };
    if (answer.frame > 0) add(answer.frame, { class: "segment frame", title: `Title and headings: ${count(answer.frame)} tokens` });
    answer.rows.forEach((row, number) => {
      if (!row.tokens) return;
      const odd = segments.length % 2 ? " odd" : "";
      add(row.tokens * scale, {
        class: `segment${odd}`, "--hue": hueOf(names, sectionOf(row)), "data-row": number,
        title: `${row.title}: ${count(row.tokens)} tokens (${row.detail})`,
      }, number);
    });
    this.bar.replaceChildren(...segments);
    const unspent = answer.max_tokens === null ? 0 : answer.max_tokens - answer.tokens;
    this.parts = answer.sections.filter((section) => section.tokens || section.planned).map((section) => this.#section(section, names));
    if (answer.frame > 0) this.parts.push(make("span", {}, make("i", { class: "dot frame" }), "frame ", make("b", {}, count(answer.frame))));
    if (answer.frame < 0) {
      this.parts.push(make("span", { title: "Items are counted one by one; together on a page they cost less" }, "saved by sharing lines ", make("b", {}, count(-answer.frame))));
    }
    if (answer.max_tokens !== null) {
      this.parts.push(make("span", {}, make("i", { class: "dot unspent" }), "unspent ", make("b", {}, count(unspent))));
    }
    this.legend.replaceChildren(...this.parts, make("span", {}, " "));
    this.bar.setAttribute("aria-label",
      `${count(answer.tokens)} tokens spent of ${answer.max_tokens === null ? "no limit" : count(answer.max_tokens)}: `
      + answer.sections.map((section) => `${section.heading} ${count(section.tokens)}`).join(", ")
      + `, unspent ${count(unspent)}`);
  }

  #section(section, names) {
    const parts = [make("i", { class: "dot", "--hue": hueOf(names, section.name) }), `${section.heading} `, make("b", {}, count(section.tokens))];
    if (section.planned !== null) {
      const moved = section.tokens - section.planned;
      const words = moved >= 0 ? `took ${count(moved)}` : `left ${count(-moved)}`;
      parts.push(make("span", { title: `Its share was ${count(section.planned)} tokens` }, ` of ${count(section.planned)}, ${words}`));
    }
    return make("span", {}, ...parts);
  }

  showGains(growth) {
    if (!this.parts) return;
    const words = growth.more.slice(0, GAINS_NAMED).map((gain) => gain.title);
    const others = growth.more.length - words.length;
    const said = !growth.more.length ? "nothing more" : words.join(", ") + (others > 0 ? ` and ${others} more` : "");
    const full = growth.more.map((gain) => `${gain.title}: ${gain.detail}, ${count(gain.tokens)} tokens`).join("\n");
    this.legend.replaceChildren(...this.parts,
      make("span", { class: "gains", title: full }, `+${growth.more_tokens} would bring `, make("span", { class: "gain", dir: "auto" }, said)));
  }

  light(row) {
    for (const [number, segment] of this.segments) segment.classList.toggle("lit", number === row);
  }

  clear() {
    this.parts = null;
    this.segments.clear();
    this.bar.replaceChildren();
    this.legend.replaceChildren();
    this.bar.setAttribute("aria-label", "Nothing is spent yet");
  }
}
