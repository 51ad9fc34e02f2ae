// Compare: two settings or two times side by side, with what appeared, vanished, changed and moved, and why.

import { byId, count, make, plural, refOf, SIGNS } from "./dom.js";
import { openSource } from "./explain.js";
import { empty, setUpView, show, tabs, when } from "./frame.js";
import { ask } from "./service.js";

const FIELDS = ["topic", "profile", "lens", "max_tokens", "floor", "format", "as_of", "tenants"];
const SIDES = ["left", "right"];

let choices = null;
const view = setUpView(draw);

async function draw(query) {
  choices ??= await ask("choices", "");
  const sides = Object.fromEntries(SIDES.map((side) => [side, new URLSearchParams(query.get(side) ?? "")]));
  const isAsked = SIDES.every((side) => sides[side].has("topic") || sides[side].has("context") || sides[side].has("now"));
  const found = await ask("compare", isAsked ? new URLSearchParams(SIDES.map((side) => [side, sides[side]])) : "");
  drawChoices(sides, found, query);
  if (!isAsked) {
    show(empty("Two pages, side by side", make("p", {}, "Ask a question above and give the sides other settings; or choose a page that was handed out, and see what it would show now.")));
    return;
  }
  show(headline(found), query.get("show") === "pages" ? pages(found) : table(found));
}

// --- the settings of both sides ---

function drawChoices(sides, found, query) {
  const topic = sides.left.get("topic") ?? sides.right.get("topic") ?? "";
  const question = make("input", { id: "compare-question", type: "search", value: topic, dir: "auto", "aria-label": "Question for both sides", placeholder: "A question for both sides" });
  const form = make("form", { class: "compare-form" }, question,
    make("div", { class: "sides" }, ...SIDES.map((side) => sideForm(side, sides[side], found.kept))));
  const apply = () => {
    const [left, right] = SIDES.map((side) => readSide(form, side, question.value.trim(), sides[side]));
    view.go({ left, right });
  };
  form.addEventListener("submit", (event) => { event.preventDefault(); apply(); });
  form.addEventListener("change", apply);
  byId("choices").replaceChildren(form, tabs("Show", [["", "Items"], ["pages", "Pages"]], query.get("show") ?? "", (name) => view.go({ show: name })));
}

function sideForm(side, values, kept) {
  const field = (name, label, control) => {
    control.name = `${side}-${name}`;
    control.value = values.get(name) ?? "";
    return make("label", {}, label, control);
  };
  const select = (options) => make("select", {}, ...options.map(([value, text]) => make("option", { value }, text)));
  const profile = choices.profiles.find((each) => each.name === values.get("profile"));
  const lenses = profile?.lenses ?? [];
  const pages = kept.flatMap((each) => [[`context=${each.id}`, `given ${when(each.made)}: ${each.asked.slice(0, 40)}`], [`now=${each.id}`, `now: ${each.asked.slice(0, 40)}`]]);
  const source = select([["", "the question above"], ...pages]);
  source.name = `${side}-source`;
  source.value = values.has("context") ? `context=${values.get("context")}` : values.has("now") ? `now=${values.get("now")}` : "";
  return make("fieldset", { class: "side" }, make("legend", {}, side === "left" ? "Left" : "Right"),
    pages.length ? make("label", { class: "whole" }, "Page", source) : null,
    ...(source.value ? [] : [
      field("profile", "Profile", select([["", "by the store"], ...choices.profiles.map((each) => [each.name, each.name])])),
      field("lens", "Lens", select([["", "its own"], ...lenses.map((each) => [each.name, each.name])])),
      field("max_tokens", "Budget", make("input", { type: "number", min: "1", max: "1000000", placeholder: "own" })),
      field("floor", "Floor", make("input", { type: "number", min: "0", max: "1", step: "0.05", placeholder: "own" })),
      field("as_of", "As of", make("input", { type: "number", min: "0", placeholder: "now" }))]));
}

function readSide(form, side, topic, before) {
  const control = (name) => form.elements.namedItem(`${side}-${name}`);
  if (control("source")?.value) return control("source").value;
  const query = new URLSearchParams();
  for (const name of FIELDS) {
    const values = name === "topic" ? [topic] : control(name) ? [control(name).value] : before.getAll(name);
    for (const value of values) if (value !== "") query.append(name, value);
  }
  return topic ? query.toString() : "";
}

// --- what differs ---

function headline(found) {
  const counts = {};
  for (const change of found.changes) counts[change.what] = (counts[change.what] ?? 0) + 1;
  const said = Object.entries(counts).map(([what, number]) => make("span", { class: `change ${what}` }, `${SIGNS[what]} ${count(number)} ${what}`));
  const same = found.changes.length ? `${plural(found.unchanged, "item")} the same` : "Both pages show the same.";
  return make("div", { class: "compare-head" }, make("p", {}, ...said, make("span", { class: "change same" }, same)),
    found.asked.length ? make("p", { class: "hint-text", dir: "auto" }, `Asked differently: ${found.asked.join("; ")}`) : null);
}

function describe(side) {
  const limit = side.max_tokens === null ? "" : ` of ${count(side.max_tokens)}`;
  return `${side.profile || "page chosen by the store"} · ${count(side.tokens)}${limit} tokens${side.kept ? ` · given ${when(side.made)}` : ""}`;
}

function table(found) {
  const [left, right] = SIDES.map((side) => new Map(found[side].items.map((item, place) => [refOf(item), { ...item, place: place + 1 }])));
  const changes = new Map(found.changes.map((change) => [refOf(change), change]));
  // What vanished stands where it stood, before what comes after it on the left.
  const order = [...right.keys()];
  let before = -1;
  for (const ref of left.keys()) {
    if (right.has(ref)) before = order.indexOf(ref);
    else order.splice(++before, 0, ref);
  }
  const cell = (item) => (item ? make("td", {}, make("div", { class: "placed" }, make("span", { class: "place" }, `${item.place}.`),
    make("div", {}, make("button", { type: "button", class: "link", dir: "auto", onclick: () => openSource(item.key, item.tenant, "") }, item.title),
      make("small", {}, `${item.kind} · ${item.detail} · ${plural(item.tokens, "token")}`)))) : make("td", { class: "absent" }, "–"));
  const rows = order.map((ref) => {
    const change = changes.get(ref);
    return make("tr", { class: change?.what ?? "same" }, cell(left.get(ref)),
      make("td", { class: "why-cell", dir: "auto" }, make("span", { class: `change ${change?.what ?? "same"}` }, `${SIGNS[change?.what ?? "same"]} ${change?.what ?? "same"}`), change ? make("small", {}, change.why) : null),
      cell(right.get(ref)));
  });
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Items of both pages" }, make("table", { class: "compared" },
    make("thead", {}, make("tr", {}, make("th", { scope: "col" }, `Left: ${describe(found.left)}`), make("th", { scope: "col" }, "What and why"), make("th", { scope: "col" }, `Right: ${describe(found.right)}`))),
    make("tbody", {}, ...rows)));
}

function pages(found) {
  const changes = new Map(found.changes.map((change) => [refOf(change), change.what]));
  const column = (side, label) => {
    const each = found[side];
    const head = make("h2", {}, `${label}: ${describe(each)}`);
    if (each.text === null) return make("section", { class: "panel" }, head, make("p", { class: "hint-text" }, "The text of a page that was handed out is not kept, only what it held. Items shows that."));
    const kinds = [];
    for (const [first, last, tenant, key] of each.lines) for (let line = first; line <= last; line++) kinds[line] = changes.get(refOf({ tenant, key }));
    return make("section", { class: "panel" }, head, make("div", { class: "compared-text", tabindex: "0", role: "region", "aria-label": `${label} page` },
      ...each.text.replace(/\n$/, "").split("\n").map((line, place) => make("div", { dir: "auto", class: kinds[place + 1] ?? null }, line || " "))));
  };
  return make("div", { class: "columns-two" }, column("left", "Left"), column("right", "Right"));
}

view.redraw();
