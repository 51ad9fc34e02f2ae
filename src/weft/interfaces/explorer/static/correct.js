// Correct one item: propose, see how the page would change, apply, undo. Only where the service was started with --write.

import { announce, byId, count, make, plural, SIGNS } from "./dom.js";
import { ask, refusalOf, send } from "./service.js";

const FACTORS = [["2", "much higher (× 2)"], ["1.3", "higher (× 1.3)"], ["0.75", "lower (× 0.75)"], ["0.4", "much lower (× 0.4)"]];
const ENTITIES = ["character", "location", "faction", "object", "event"];

export class Correcting {
  constructor(onChanged) {
    this.dialog = byId("correct");
    this.onChanged = onChanged;
  }

  // Open the dialog for a row of the answer; `asked` is the query of the page it is seen on.
  async open(row, asked) {
    try {
      this.node = await ask("source", new URLSearchParams({ key: row.key, tenant: row.tenant }));
    } catch (error) {
      announce(refusalOf(error));
      return;
    }
    this.asked = asked.toString();
    byId("correct-title").textContent = `Correct: ${this.node.title}`;
    const actions = [["forget", "Forget"], ["edit", "Edit"], ["tag", "Tags"]];
    if (this.node.kind === "memory") actions.push(["supersede", "Supersede"]);
    if (ENTITIES.includes(this.node.kind)) actions.push(["merge", "Merge"]);
    actions.push(["hide", "Hide its source"], ["kind", "Raise or lower its kind"]);
    this.choice = make("select", { id: "correct-action", "aria-label": "What to do", onchange: () => this.#fill() }, ...actions.map(([value, text]) => make("option", { value }, text)));
    this.fields = make("div", { class: "correct-fields" });
    this.result = make("div", { id: "correct-preview", role: "status" });
    byId("correct-body").replaceChildren(make("label", {}, "What ", this.choice), this.fields,
      make("div", { class: "actions" }, make("button", { type: "button", id: "preview", onclick: () => this.#preview() }, "Preview"),
        make("button", { type: "button", id: "apply", class: "primary", onclick: () => this.#apply() }, "Apply")), this.result);
    this.#fill();
    this.dialog.showModal();
    this.choice.focus();
  }

  #fill() {
    const field = (name, label, value, rows = 0) => {
      const control = make(rows ? "textarea" : "input", { name, dir: "auto", rows: rows || null, type: rows ? null : "text" });
      control.value = value;
      return make("label", {}, label, control);
    };
    const own = field("profile", "Save as the profile", "mine");
    const { node } = this;
    const fields = {
      forget: () => [make("p", {}, "It is removed, and stays so when its source is read again. This can be undone.")],
      edit: () => [field("title", "Title", node.title), field("summary", "Summary", node.summary ?? "", 3), field("text", "Text", node.text ?? "", 10)],
      tag: () => [field("tags", "Tags, with commas between them", node.tags.join(", "))],
      supersede: () => [field("text", "What it says now; the old text stays in its history", node.text ?? "", 4)],
      merge: () => [field("names", "Also called, with commas between the names", "")],
      hide: () => [make("p", {}, "Nothing of ", make("strong", {}, node.source), " stands on pages of your profile."), own],
      kind: () => [make("label", {}, `Items of the kind ${node.kind} are ranked`, make("select", { name: "factor" }, ...FACTORS.map(([value, text]) => make("option", { value }, text)))), own],
    };
    this.fields.replaceChildren(...fields[this.choice.value]());
    this.result.replaceChildren();
  }

  #proposal() {
    const value = (name) => this.fields.querySelector(`[name=${name}]`)?.value ?? "";
    const list = (name) => value(name).split(",").map((each) => each.trim()).filter(Boolean);
    const { node } = this;
    const base = { action: this.choice.value, tenant: node.tenant, key: node.key, asked: this.asked };
    const changed = () => Object.fromEntries(["title", "summary", "text"].filter((name) => value(name) !== (node[name] ?? "")).map((name) => [name, value(name)]));
    return {
      forget: () => base,
      edit: () => ({ ...base, parts: changed() }),
      tag: () => ({ ...base, tags: list("tags") }),
      supersede: () => ({ ...base, text: value("text") }),
      merge: () => ({ ...base, names: [node.title, ...list("names")] }),
      hide: () => ({ ...base, action: "page", name: value("profile"), hide_sources: [node.source] }),
      kind: () => ({ ...base, action: "page", name: value("profile"), kinds: { [node.kind]: Number(value("factor")) } }),
    }[this.choice.value]();
  }

  async #try(task) {
    try {
      await task();
    } catch (error) {
      this.result.replaceChildren(make("p", { class: "problem" }, refusalOf(error)));
    }
  }

  #preview() {
    return this.#try(async () => {
      this.result.replaceChildren(make("p", { class: "hint-text" }, "Trying it …"));
      const found = await send("write/preview", this.#proposal());
      this.result.replaceChildren(
        make("h3", {}, found.changes.length ? "The page would change" : "The page would stay the same"),
        make("p", { class: "hint-text" }, `${count(found.before)} tokens before, ${count(found.after)} after, ${plural(found.unchanged, "item")} unchanged. Nothing is changed yet.`),
        make("ul", { class: "given" }, ...found.changes.map((change) => make("li", {}, make("span", { class: `change ${change.what}` }, `${SIGNS[change.what]} ${change.what}`),
          make("strong", { dir: "auto" }, change.title || change.key), make("small", { class: "reason", dir: "auto" }, change.why)))),
        found.toml ? make("details", { class: "toml" }, make("summary", {}, "The profile as TOML"), make("pre", { tabindex: "0" }, found.toml)) : "");
    });
  }

  #apply() {
    return this.#try(async () => {
      const proposal = this.#proposal();
      const { undo } = await send("write/correction", proposal);
      this.dialog.close();
      this.onChanged(undo, proposal);
    });
  }
}

// A bar at the bottom of the page that says what was done, and takes it back.
export function offerUndo(says, undo, onUndone) {
  const bar = byId("undo");
  const take = async () => {
    try {
      await send("write/undo", undo);
      bar.hidden = true;
      announce("Undone");
      onUndone();
    } catch (error) {
      announce(refusalOf(error));
    }
  };
  bar.replaceChildren(make("span", { dir: "auto" }, says), make("button", { type: "button", onclick: take }, "Undo"),
    make("button", { type: "button", class: "quiet", "aria-label": "Close", onclick: () => { bar.hidden = true; } }, "✕"));
  bar.hidden = false;
}
