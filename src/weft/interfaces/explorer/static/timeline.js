// Timeline: chapters in their order, commits, conversations and memories by date.

import { byId, count, make } from "./dom.js";
import { openSource } from "./explain.js";
import { askAddress, empty, setUpView, show, tabs, tenantBoxes, when } from "./frame.js";
import { ask } from "./service.js";

const LABELS = { story: "Story", commits: "Commits", chats: "Chats", memory: "Memory" };

let choices = null;
const view = setUpView(draw);

async function draw(query) {
  choices ??= await ask("choices", "");
  const found = await ask("timeline", query);
  const chosen = query.getAll("tenants");
  const names = Object.keys(found.tracks);
  byId("choices").replaceChildren(...[
    names.length ? tabs("Track", names.map((name) => [name, `${LABELS[name]} ${count(found.tracks[name])}`]), found.track, (track) => view.go({ track, span: "" })) : null,
    tenantBoxes(choices.tenants, chosen.length ? chosen : choices.chosen, (tenants) => view.go({ tenants, span: "" })),
  ].filter(Boolean));
  if (!names.length) {
    show(empty("Nothing here has a place in time", make("p", {}, "Chapters of a story, commits, conversations and memories stand here once they are indexed.")));
    return;
  }
  show(found.spans.length > 1 ? spans(found) : "", make("ol", { class: `events ${found.track}` }, ...found.events.map((event) => entry(event, found.track))),
    found.left_out ? make("p", { class: "hint-text" }, `${count(found.left_out)} more in this span are not shown.`) : "");
}

function spans(found) {
  const most = Math.max(1, ...found.spans.map((span) => span.count));
  return make("div", { class: "spans", role: "group", "aria-label": "Spans" }, ...found.spans.map((span) => {
    const bar = make("i", {});
    bar.style.height = `${Math.max(3, (46 * span.count) / most)}px`;
    return make("button", { type: "button", "aria-pressed": String(span.name === found.span), title: `${span.name}: ${count(span.count)}`, onclick: () => view.go({ track: found.track, span: span.name }) },
      bar, make("span", {}, span.name));
  }));
}

function entry(event, track) {
  const mark = track === "story" ? (event.sequence ?? "·") : when(event.at, track === "chats");
  const label = track === "story" ? "Ask as of here" : "Ask about it";
  const isTold = event.text && event.text !== event.title;
  return make("li", { class: event.kind },
    make("span", { class: "at" }, String(mark)),
    make("div", { class: "event" },
      make("button", { type: "button", class: "link", dir: "auto", onclick: () => openSource(event.key, event.tenant, "") }, event.title),
      make("small", { dir: "auto" }, [event.kind, event.who.join(", "), event.source].filter(Boolean).join(" · ")),
      isTold ? make("p", { dir: "auto" }, event.text) : null,
      make("a", { class: "ask-link", href: askAddress(event.key, [event.tenant], track === "story" && event.sequence !== null ? { as_of: event.sequence } : {}),
        "aria-label": `${label}: ${event.title}` }, label)));
}

view.redraw();
