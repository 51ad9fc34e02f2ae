// Cast: who and what the stories name, how often, and how they are tied.

import { byId, count, make, plural } from "./dom.js";
import { openSource } from "./explain.js";
import { askAddress, empty, setUpView, show, tabs, tenantSelect } from "./frame.js";
import { drawRings } from "./rings.js";
import { ask } from "./service.js";

const TIES_DRAWN = 24;
// In pixels, as views.css lays the two panels out.
const MOST_WIDTH = 760;
const LIST_WIDTH = 306;
const PANEL_PADDING = 34;

let choices = null;
let found = null;
let asked = "";
const view = setUpView(draw);

async function draw(query) {
  choices ??= await ask("choices", "");
  const wanted = new URLSearchParams([...query].filter(([name]) => name === "tenant" || name === "as_of"));
  if (String(wanted) !== asked || !found) {
    found = await ask("cast", wanted);
    asked = String(wanted);
  }
  const kinds = [...new Set(found.members.map((member) => member.kind))];
  const kind = query.get("kind") ?? "";
  const find = make("input", { type: "search", id: "cast-find", placeholder: "Filter", "aria-label": "Filter by name", value: query.get("find") ?? "", dir: "auto" });
  byId("choices").replaceChildren(...[
    kinds.length > 1 ? tabs("Kind", [["", `All ${count(found.members.length)}`], ...kinds.map((each) => [each, each])], kind, (each) => view.go({ kind: each })) : null,
    find, tenantSelect(choices.tenants, found.tenant, (tenant) => view.go({ tenant, who: "" })),
  ].filter(Boolean));
  if (!found.members.length) {
    show(empty("No story is stored here", make("p", {}, "Index a book with ", make("code", {}, "weft index BOOK --as story"), ", or choose another tenant.")));
    return;
  }
  const chosen = Math.max(0, found.members.findIndex((member) => member.key === query.get("who")));
  const list = make("ul", { class: "members" });
  const fill = () => {
    const words = find.value.toLowerCase();
    list.replaceChildren(...found.members.map((member, place) => [member, place])
      .filter(([member]) => (!kind || member.kind === kind) && [member.title, ...member.aliases].some((name) => name.toLowerCase().includes(words)))
      .map(([member, place]) => make("li", {}, make("button", { type: "button", "aria-pressed": String(place === chosen), onclick: () => view.go({ who: member.key }) },
        make("span", { dir: "auto" }, member.title), make("small", {}, `${member.kind} · ${plural(member.texts, "text")}`)))));
  };
  find.addEventListener("input", fill);
  fill();
  show(make("div", { class: "two" }, make("section", { class: "panel" }, list, found.left_out ? make("p", { class: "hint-text" }, `${count(found.left_out)} more are mentioned less.`) : null), person(chosen)));
}

// The panel beside the list, or below it on a phone.
function drawingWidth() {
  const isNarrow = matchMedia("(max-width: 820px)").matches;
  return Math.min(MOST_WIDTH, byId("drawn").clientWidth - (isNarrow ? 0 : LIST_WIDTH) - PANEL_PADDING);
}

function person(chosen) {
  const member = found.members[chosen];
  const ties = found.ties.filter((tie) => tie.source === chosen || tie.target === chosen);
  const other = (tie) => found.members[tie.source === chosen ? tie.target : tie.source];
  const nodes = new Map([[chosen, { key: member.key, title: member.title, kind: member.kind, ring: 0 }]]);
  const edges = [];
  for (const tie of ties) {
    const place = tie.source === chosen ? tie.target : tie.source;
    if (!nodes.has(place)) {
      if (nodes.size > TIES_DRAWN) continue;
      nodes.set(place, { key: other(tie).key, title: other(tie).title, kind: other(tie).kind, ring: 1, parent: 0 });
    }
    edges.push([tie.source, tie.target, tie.type]);
  }
  const places = [...nodes.keys()];
  const drawing = drawRings([...nodes.values()], edges.map(([source, target, type]) => ({ source: places.indexOf(source), target: places.indexOf(target), type })),
    (node) => view.go({ who: node.key }), drawingWidth());
  const facts = [member.aliases.length ? `also called ${member.aliases.join(", ")}` : "", member.from === null ? "" : `from chapter ${member.from}`,
    typeof member.confidence === "number" ? `sure to ${Math.round(100 * member.confidence)} %` : "by a note"].filter(Boolean);
  return make("section", { class: "panel person" },
    make("h2", { dir: "auto" }, member.title), make("p", { class: "hint-text", dir: "auto" }, `${member.kind} · ${plural(member.texts, "text")} · ${facts.join(" · ")}`),
    member.summary ? make("p", { dir: "auto" }, member.summary) : null,
    make("div", { class: "actions" }, make("a", { class: "button", href: askAddress(member.key, [found.tenant]) }, "Ask about it"),
      make("button", { type: "button", onclick: () => openSource(member.key, found.tenant, "") }, "Open")),
    ties.length ? drawing : make("p", { class: "hint-text" }, "No ties to others were found."),
    make("dl", { class: "ties" }, ...ties.map((tie) => make("div", {},
      make("dt", { dir: "auto" }, `${tie.type} ${tie.source === chosen ? "→" : "←"} ${other(tie).title}`), make("dd", { dir: "auto" }, tie.evidence || "–")))));
}

view.redraw();
