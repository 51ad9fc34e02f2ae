// Memory: memories and experiences with their status.

import { byId, count, make, plural } from "./dom.js";
import { empty, setUpView, show, tabs, tenantSelect, when } from "./frame.js";
import { ask } from "./service.js";

let choices = null;
const view = setUpView(draw);

async function draw(query) {
  choices ??= await ask("choices", "");
  const found = await ask("learned", query.has("tenant") ? new URLSearchParams({ tenant: query.get("tenant") }) : "");
  const { memories, experiences } = found.learned;
  const of = query.get("of") || (memories.length || !experiences.length ? "memories" : "experiences");
  const find = make("input", { type: "search", placeholder: "Filter", "aria-label": "Filter", dir: "auto" });
  byId("choices").replaceChildren(...[
    tabs("What", [["memories", `Memories ${count(memories.length)}`], ["experiences", `Experiences ${count(experiences.length)}`]], of, (each) => view.go({ of: each })),
    find, tenantSelect(choices.tenants, found.tenant, (tenant) => view.go({ tenant })),
  ].filter(Boolean));
  if (!memories.length && !experiences.length) {
    show(empty("Nothing is remembered here", make("p", {}, make("code", {}, "weft remember TEXT"), " stores a memory, ", make("code", {}, "weft experience start"), " an experience; agents do so over MCP.")));
    return;
  }
  const items = of === "memories" ? memories.map(memory) : experiences.map(experience);
  const list = make("ul", { class: "learned" }, ...items);
  find.addEventListener("input", () => {
    const words = find.value.toLowerCase().split(/\s+/);
    for (const item of items) item.hidden = !words.every((word) => item.textContent.toLowerCase().includes(word));
  });
  show(items.length ? list : empty(`No ${of} here`));
}

const badge = (status) => make("span", { class: `badge ${status}` }, status);

function memory({ memory: each, status, why, uses }) {
  const facts = [each.category, `importance ${each.importance}`, when(each.updated, false), uses.times ? `used ${plural(uses.times, "time")}` : "not used yet", ...each.tags.map((tag) => `#${tag}`)];
  return make("li", {}, badge(status), make("div", {}, make("p", { dir: "auto" }, each.text), why ? make("p", { class: "why-text", dir: "auto" }, why) : null,
    make("small", {}, `${facts.join(" · ")} · `, make("code", {}, each.key)),
    each.history.length > 1 ? make("details", {}, make("summary", {}, plural(each.history.length, "earlier text")),
      ...each.history.map((old) => make("p", { dir: "auto" }, `until ${when(old.until, false)}: ${old.text}`))) : null));
}

function experience(each) {
  const facts = [each.domain, each.strategy, each.tier, when(each.resolved ?? each.attempted, false), plural(each.before.length + 1, "attempt")].filter(Boolean);
  return make("li", {}, badge(each.status), make("div", {}, make("p", { dir: "auto" }, make("strong", {}, each.goal)), make("p", { dir: "auto" }, each.hypothesis),
    each.result ? make("p", { dir: "auto" }, `Result: ${each.result}`) : null,
    each.lesson ? make("p", { class: "why-text", dir: "auto" }, `Lesson: ${[each.lesson.takeaway, each.lesson.what_worked].filter(Boolean).join(" · ")}`) : null,
    make("small", {}, facts.join(" · "))));
}

view.redraw();
