// Explain one item: its card, the answer to "why is X not here?", and its source.

import { announce, byId, count, hueOf, make } from "./dom.js";
import { contributions, signalNames } from "./ledger.js";
import { ask, refusalOf } from "./service.js";

export function drawCard(answer, row, span, actions) {
  const card = byId("card");
  if (!answer || row < 0) {
    const said = !answer ? "Every candidate will stand here: why it was printed or left out, and what would change that."
      : span ? "Weft wrote this line itself: a title, heading or note." : "Choose a line of the page or a candidate below; it is explained here.";
    card.replaceChildren(make("p", {}, said));
    return;
  }
  const entry = answer.rows[row];
  const names = signalNames(answer.sections);
  const parts = contributions(entry, answer.sections);
  const most = Math.max(0.001, ...parts.map(([, value]) => value));
  const lines = span?.from ? `, line${span.to > span.from ? `s ${span.from}–${span.to}` : ` ${span.from}`}` : "";
  const cost = entry.tokens ? `, ${count(entry.tokens)} tokens` : "";
  card.replaceChildren(
    make("h3", { dir: "auto", title: entry.key }, entry.title),
    make("p", { class: "reason" }, `${entry.detail === "dropped" ? "Left out" : `Printed as ${entry.detail}`}${cost}: ${entry.reason}`,
      entry.appears ? `; appears from ${count(entry.appears)} tokens` : ""),
    make("p", { dir: "auto" }, `${entry.kind} of ${entry.tenant}, ${entry.path}`, span?.place ? ` · ${span.place}${lines}` : ` · ${entry.key}`),
    make("div", { class: "signals" }, ...parts.map(([name, value]) => {
      const fill = make("b", {});
      fill.style.width = `${(100 * value) / most}%`;
      return make("div", { class: "signal", "--hue": hueOf(names, name) }, make("span", {}, name), make("i", {}, fill), make("span", {}, value.toFixed(3)));
    })),
    make("div", { class: "actions" },
      make("button", { type: "button", title: "Open it where it stands (Enter)", onclick: actions.open }, "Source"),
      make("button", { type: "button", title: "What would bring it, and from how many tokens (w)", onclick: actions.why }, "Explain"),
      make("button", { type: "button", title: "Ask about this item alone (s)", onclick: actions.start }, "Start here"),
      span?.key ? make("button", { type: "button", title: "The chosen line is needed (y)", onclick: () => actions.mark(true) }, "✓ Needed") : null,
      span?.key ? make("button", { type: "button", title: "The chosen line is noise (u)", onclick: () => actions.mark(false) }, "✗ Noise") : null,
      actions.correct ? make("button", { type: "button", title: "Forget, edit, tag, merge, hide or raise (e)", onclick: actions.correct }, "Correct") : null));
}

export async function explainName(query, name, apply) {
  const box = byId("why-answer");
  box.hidden = false;
  box.replaceChildren(make("p", {}, "Trying other budgets …"));
  query.set("name", name);
  try {
    const found = await ask("why", query);
    const offers = found.ways.map((way) => make("button", { type: "button", onclick: () => apply(way) }, way.say));
    box.replaceChildren(make("p", {}, make("strong", { dir: "auto" }, found.title)), ...found.said.map((said) => make("p", { dir: "auto" }, said)),
      make("div", { class: "offers" }, ...offers));
  } catch (error) {
    box.replaceChildren(make("p", { class: "problem" }, refusalOf(error)));
  }
}

export async function openSource(key, tenant, asOf, from, to) {
  const query = new URLSearchParams({ key, tenant });
  if (asOf) query.set("as_of", asOf);
  let node;
  try {
    node = await ask("source", query);
  } catch (error) {
    announce(refusalOf(error));
    return;
  }
  byId("source-title").textContent = node.title;
  const facts = {
    [node.kind]: node.key, tenant: node.tenant, from: node.place, changed: node.modified, stale: node.stale,
    tags: node.tags.join(", "), "also called": node.aliases.join(", "), ...node.fields,
  };
  byId("source-facts").replaceChildren(
    ...Object.entries(facts).filter(([, value]) => value).map(([name, value]) => make("p", { dir: "auto" }, `${name}: ${value}`)));
  const text = node.text || node.summary || "It has no text of its own.";
  const lines = text.replace(/\n$/, "").split("\n").map((line, place) => {
    const number = node.first_line + place;
    const isLit = from && number >= from && number <= (to ?? from);
    return make("div", { dir: "auto", "data-number": number, class: isLit ? "lit" : null }, line || " ");
  });
  const box = byId("source-text");
  box.replaceChildren(...lines);
  byId("source").showModal();
  box.focus();
  box.scrollTop = 0;
  lines.find((line) => line.classList.contains("lit"))?.scrollIntoView({ block: "center" });
}
