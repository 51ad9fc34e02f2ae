// Read: the page as the model gets it, line by line, each line with its source.

import { announce, byId, count, langOf, make } from "./dom.js";
import { drawMarkdown } from "./markdown.js";

export class Reading {
  constructor(onChoose, onOpen) {
    this.element = byId("page");
    this.onChoose = onChoose;
    this.lines = [];
    this.spans = [];
    this.current = -1;
    this.lighted = new Map();
    this.top = 0;
    this.element.addEventListener("scroll", () => { this.top = this.element.scrollTop; }, { passive: true });
    this.element.addEventListener("mousemove", (event) => this.#pointed(event));
    this.element.addEventListener("click", (event) => {
      const number = this.#numberAt(event);
      if (number < 0 || !getSelection().isCollapsed) return;
      this.walkTo(number);
      if (event.detail === 2) onOpen();
    });
  }

  draw(answer, raw) {
    this.answer = answer;
    const lines = answer.text === "" ? [] : answer.text.replace(/\n$/, "").split("\n");
    this.spans = [];
    for (const span of answer.spans) {
      for (let line = span.first; line <= span.last; line++) this.spans[line - 1] = span;
    }
    const drawn = !raw && answer.format === "markdown" ? drawMarkdown(lines) : lines.map((line) => [line.trim() ? "" : "blank", [line]]);
    this.element.classList.toggle("raw", raw || answer.format !== "markdown");
    this.lines = drawn.map(([kind, children], number) =>
      make("div", {
        class: `line ${kind}${this.spans[number]?.key ? " known" : ""}`, dir: "auto", lang: langOf(lines[number]), id: `line-${number + 1}`, "data-number": number + 1,
        // A blank line has nothing to say, so screen readers pass over it as walking does.
        ...(kind.includes("blank") ? { "aria-hidden": "true" } : { role: "option", "aria-selected": "false" }),
      }, ...children));
    this.element.setAttribute("role", "listbox");
    const { top } = this;
    this.element.replaceChildren(...this.lines);
    this.lighted = new Map();
    // Asking for the place, or setting it, lays the page out at once; mostly it stands at its beginning.
    if (top > 0) this.element.scrollTop = top;
    this.current = Math.min(this.current, this.lines.length - 1);
  }

  #numberAt(event) {
    const line = event.target.closest(".line");
    return line ? this.lines.indexOf(line) : -1;
  }

  #pointed(event) {
    const number = this.#numberAt(event);
    // Hovering only lights; the keyboard's line stays where it is until a click.
    if (number >= 0 && number !== this.pointed) {
      this.pointed = number;
      this.onChoose(this.spans[number]?.row ?? -1, number, false);
    }
  }

  walk(by) {
    if (!this.lines.length) return;
    let next = this.current + by;
    // Blank lines say nothing, so walking passes over them.
    while (this.lines[next]?.classList.contains("blank")) next += by;
    if (this.lines[next]) this.walkTo(next);
  }

  walkTo(number) {
    this.current = number;
    this.lines[number].scrollIntoView({ block: "nearest" });
    this.element.setAttribute("aria-activedescendant", this.lines[number].id);
    this.onChoose(this.spans[number]?.row ?? -1, number, true);
  }

  light(row, number) {
    // Only what changes is touched: a page has hundreds of lines, and this runs at every key press.
    const now = new Map();
    this.lines.forEach((line, index) => {
      if (index === number) now.set(line, "lit");
      else if (row >= 0 && this.spans[index]?.row === row) now.set(line, "same");
    });
    for (const [line, kind] of this.lighted) if (now.get(line) !== kind) this.#mark(line, kind, false);
    for (const [line, kind] of now) if (this.lighted.get(line) !== kind) this.#mark(line, kind, true);
    this.lighted = now;
  }

  #mark(line, kind, isOn) {
    line.classList.toggle(kind, isOn);
    if (kind === "lit" && line.role) line.setAttribute("aria-selected", String(isOn));
  }

  textOf(number) {
    return this.answer.text.split("\n")[number].trim();
  }

  // Lines that were marked as needed or noise, by their text.
  showMarks(marks) {
    const texts = marks.size ? this.answer.text.split("\n") : [];
    this.lines.forEach((line, number) => {
      const needed = marks.size && this.spans[number]?.key ? marks.get(texts[number].trim()) : undefined;
      line.classList.toggle("needed", needed === true);
      line.classList.toggle("noise", needed === false);
      if (needed === undefined) line.removeAttribute("aria-description");
      else line.setAttribute("aria-description", needed ? "marked as needed" : "marked as noise");
    });
  }

  scrollToRow(row) {
    const first = this.spans.findIndex((span) => span?.row === row);
    if (first >= 0) this.lines[first]?.scrollIntoView({ block: "nearest" });
  }

  showEmpty(...children) {
    this.lines = [];
    this.spans = [];
    this.current = -1;
    this.answer = null;
    this.element.removeAttribute("aria-activedescendant");
    this.element.setAttribute("role", "region");
    this.element.replaceChildren(make("div", { class: "empty" }, ...children));
  }

  async copy() {
    if (!this.answer) return;
    try {
      await navigator.clipboard.writeText(this.answer.text);
      announce(`Copied ${count(this.answer.tokens)} tokens`);
    } catch {
      announce("The browser does not allow copying here. Use Download.");
    }
  }

  download() {
    if (!this.answer) return;
    const ending = { markdown: "md", xml: "xml", json: "json" }[this.answer.format] ?? "txt";
    const address = URL.createObjectURL(new Blob([this.answer.text], { type: "text/plain;charset=utf-8" }));
    const name = `weft-${this.answer.hash.slice(0, 8)}.${ending}`;
    make("a", { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
    announce(`Downloaded ${name}`);
  }
}
