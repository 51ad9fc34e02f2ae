// Sessions: what agents were given, prompt by prompt, and why.

import { byId, count, make, plural } from "./dom.js";
import { openSource } from "./explain.js";
import { empty, setUpView, show, when } from "./frame.js";
import { ask } from "./service.js";

const ITEMS_OPEN = 8;

const view = setUpView(draw);
const nameOf = (session) => session || "pages outside a session";

async function draw(query) {
  const found = await ask("sessions", query.has("session") ? new URLSearchParams({ session: query.get("session") }) : "");
  byId("choices").replaceChildren();
  if (!found.sessions.length) {
    show(empty("No page was handed out yet", make("p", {}, "Pages that hooks, MCP and ", make("code", {}, "weft context --session"), " hand out are listed here. What you look at in the explorer is not kept.")));
    return;
  }
  const list = make("ul", { class: "members" }, ...found.sessions.map((session) => make("li", {},
    make("button", { type: "button", "aria-pressed": String(session.name === found.session), onclick: () => view.go({ session: session.name }) },
      make("span", { dir: "auto" }, nameOf(session.name)), make("small", { dir: "auto" }, `${plural(session.pages, "page")}, ${count(session.tokens)} tokens · ${when(session.last)}`)))));
  show(make("div", { class: "two" }, make("section", { class: "panel" }, list),
    make("section", { class: "panel" }, make("h2", { dir: "auto" }, nameOf(found.session)), make("ol", { class: "prompts" }, ...found.pages.map(page)))));
}

function page(each) {
  const limit = each.max_tokens === null ? "" : ` of ${count(each.max_tokens)}`;
  const compared = new URLSearchParams({ left: `context=${each.id}`, right: `now=${each.id}` });
  return make("li", {},
    make("p", { class: "prompt", dir: "auto" }, each.asked || "(standing rules)"),
    make("small", {}, `${when(each.made)} · ${each.profile || "page chosen by the store"} · ${count(each.tokens)}${limit} tokens · `, make("code", {}, each.id)),
    each.items.length ? make("ul", { class: "given" }, ...each.items.slice(0, ITEMS_OPEN).map(item)) : make("p", { class: "hint-text" }, "Nothing was given: nothing stored speaks to it."),
    each.items.length > ITEMS_OPEN ? make("details", {}, make("summary", {}, `${count(each.items.length - ITEMS_OPEN)} more given`), make("ul", { class: "given" }, ...each.items.slice(ITEMS_OPEN).map(item))) : null,
    each.left_out_count ? make("details", {}, make("summary", {}, `${count(each.left_out_count)} left out`), make("ul", { class: "given" }, ...each.left_out.map(item))) : null,
    ...each.notes.map((note) => make("p", { class: "hint-text", dir: "auto" }, note)),
    make("p", { class: "links" }, make("a", { href: `/explore/view/compare?${compared}` }, "What it would get now")));
}

function item(each) {
  return make("li", {}, make("button", { type: "button", class: "link", dir: "auto", onclick: () => openSource(each.key, each.tenant, "") }, each.title),
    make("small", { dir: "auto" }, ` ${each.kind} · ${each.detail === "dropped" ? "left out" : `${each.detail}, ${count(each.tokens)} tokens`} · ${each.why}`));
}

view.redraw();
