// Store: what is indexed by source, kind, tenant and age, what is stale or failed, and how it grew.

import { byId, count, hueOf, make, plural } from "./dom.js";
import { empty, setUpView, show, tenantBoxes, when } from "./frame.js";
import { ask, refusalOf, send } from "./service.js";
import { areaChart } from "./charts.js";

const POLL_MS = 400;
const KINDS_NAMED = 4;
const BARS_DRAWN = 10;
const RUNS_LISTED = 5;

let choices = null;
const view = setUpView(draw);

async function draw(query) {
  choices ??= await ask("choices", "");
  const chosen = query.getAll("tenants");
  byId("choices").replaceChildren(...[tenantBoxes(choices.tenants, chosen.length ? chosen : choices.tenants,
    (tenants) => view.go({ tenants: tenants.length === choices.tenants.length ? [] : tenants }))].filter(Boolean));
  const { census, size, location: place } = await ask("census", new URLSearchParams(chosen.map((tenant) => ["tenants", tenant])));
  const parts = [];
  if (!census.nodes) {
    parts.push(empty("Nothing is stored here yet", make("p", {}, choices.writes ? "Index a folder below." : make("span", {}, "Index a folder with ", make("code", {}, "weft index PATH"), ", then reload this page."))));
  } else {
    parts.push(figures(census, size, place), stale(census), make("div", { class: "panels" },
      bars("Kinds", census.by_kind), make("div", { class: "stacked" },
        bars("Ages", Object.fromEntries(Object.entries(census.by_age).map(([age, number]) => [ageText(age), number])), false),
        Object.keys(census.by_tenant).length > 1 ? bars("Tenants", census.by_tenant) : null),
      growth(census.runs)), sources(census), errors(census));
  }
  if (choices.writes) parts.push(indexForm());
  show(...parts.filter(Boolean));
}

function figures(census, size, place) {
  const figure = (value, label) => make("div", { class: "figure" }, make("b", {}, value), make("span", {}, label));
  return make("div", { class: "figures-row" }, figure(count(census.nodes), "nodes"), figure(count(census.passages), "passages"),
    figure(count(census.links), "links"), figure(count(census.sources.length), census.sources.length === 1 ? "source" : "sources"),
    size === null ? null : figure(`${(size / 1e6).toFixed(1)} MB`, place));
}

function stale(census) {
  if (!census.notes.length) return make("p", { class: "good" }, "✓ Nothing that is stored is known to be out of date.");
  return make("div", { class: "notice" }, make("h2", {}, "Out of date"), ...census.notes.map((note) => make("p", { dir: "auto" }, note)));
}

function bars(title, counts, sorted = true) {
  const entries = Object.entries(counts);
  if (sorted) entries.sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  const most = Math.max(1, ...entries.map(([, number]) => number));
  const rows = entries.slice(0, BARS_DRAWN).map(([name, number]) => {
    const fill = make("b", {});
    fill.style.width = `${(100 * number) / most}%`;
    return make("div", { class: "bar-row" }, make("span", { dir: "auto", title: name }, name), make("i", {}, fill), make("span", { class: "number" }, count(number)));
  });
  const others = entries.slice(BARS_DRAWN).reduce((sum, [, number]) => sum + number, 0);
  if (others) rows.push(make("div", { class: "bar-row more" }, make("span", {}, `${entries.length - BARS_DRAWN} more`), make("i", {}), make("span", { class: "number" }, count(others))));
  return make("section", { class: "panel" }, make("h2", {}, title), ...rows);
}

function growth(runs) {
  const panel = make("section", { class: "panel" }, make("h2", {}, "Growth"));
  if (!runs.length) {
    panel.append(make("p", { class: "hint-text" }, "Shown after the next indexing run."));
    return panel;
  }
  // Each run tells the passages of its own tenant; the others keep what they had.
  const held = {};
  const points = runs.map((run) => {
    held[run.tenant] = run.passages;
    return [Date.parse(run.at), Object.values(held).reduce((sum, number) => sum + number, 0)];
  });
  panel.append(areaChart(points, "passages after each indexing run"));
  panel.append(make("ul", { class: "runs" }, ...runs.slice(-RUNS_LISTED).reverse().map((run) => make("li", {},
    make("span", { dir: "auto" }, run.sources.join(", ") || run.tenant),
    make("span", {}, [run.written || !run.removed ? `${count(run.written)} written` : "", run.removed ? `${count(run.removed)} removed` : ""].filter(Boolean).join(", "),
      run.problems.length ? make("span", { class: "problem" }, `, ${plural(run.problems.length, "problem")}`) : null),
    make("time", { datetime: run.at }, when(run.at))))));
  return panel;
}

function sources(census) {
  const kinds = Object.keys(census.by_kind);
  const rows = census.sources.map((source) => {
    const named = Object.entries(source.kinds).sort((a, b) => b[1] - a[1]);
    const stack = make("span", { class: "stack", role: "img", "aria-label": named.map(([kind, number]) => `${kind} ${number}`).join(", "),
      title: named.map(([kind, number]) => `${kind} ${count(number)}`).join("\n") });
    for (const [kind, number] of named) {
      const part = make("b", { "--hue": hueOf(kinds, kind) });
      part.style.width = `${(100 * number) / source.nodes}%`;
      stack.append(part);
    }
    const left = Object.values(source.left_out).reduce((sum, number) => sum + number, 0);
    const state = source.changed.length ? make("span", { class: "warn", title: source.changed.slice(0, 20).join("\n") }, plural(source.changed.length, "changed file"))
      : source.folder ? make("span", { class: "good" }, "up to date") : "–";
    return make("tr", {},
      make("th", { scope: "row", dir: "auto" }, source.source, make("small", {}, source.folder || source.tenant, source.folder && choices.tenants.length > 1 ? ` · ${source.tenant}` : "")),
      make("td", { class: "number" }, count(source.nodes)),
      make("td", { class: "kinds" }, stack, make("small", {}, named.slice(0, KINDS_NAMED).map(([kind, number]) => `${kind} ${count(number)}`).join(", "))),
      make("td", {}, ages(source.ages)),
      make("td", {}, state),
      make("td", {}, source.problem_count ? make("span", { class: "problem" }, plural(source.problem_count, "problem")) : "–",
        left ? make("small", { title: Object.entries(source.left_out).map(([why, number]) => `${why} ${number}`).join("\n") }, `${count(left)} not read`) : null));
  });
  return make("section", { class: "panel wide" }, make("h2", {}, "Sources"), make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Sources" }, make("table", {},
    make("thead", {}, make("tr", {}, ...["Source", "Nodes", "Kinds", "Age", "State", "Not read"].map((label, place) => make("th", { scope: "col", class: place === 1 ? "number" : null }, label)))),
    make("tbody", {}, ...rows))));
}

const ageText = (age) => (age === "undated" ? "no dates" : age === "older" ? "over a year" : `within ${age}`);

function ages(counts) {
  const [age, number] = Object.entries(counts).filter(([name]) => name !== "undated").sort((a, b) => b[1] - a[1])[0] ?? ["undated", 0];
  const text = ageText(age);
  return make("span", { title: Object.entries(counts).map(([name, each]) => `${ageText(name)} ${each}`).join("\n") }, text, number ? make("small", {}, `${count(number)} nodes`) : null);
}

function errors(census) {
  const found = census.sources.flatMap((source) => source.problems.map(([where, reason]) => [`${source.source}: ${where}`, reason]));
  for (const run of census.runs.slice(-3)) for (const [where, reason] of run.problems) if (!found.some((each) => each[1] === reason)) found.push([where, reason]);
  if (!found.length) return null;
  return make("section", { class: "panel wide" }, make("h2", {}, "Last errors"),
    make("dl", { class: "errors" }, ...found.slice(0, 30).map(([where, reason]) => make("div", {}, make("dt", { dir: "auto" }, where), make("dd", { dir: "auto" }, reason)))));
}

// --- indexing a folder ---

function indexForm() {
  const path = make("input", { id: "index-path", type: "text", required: "", placeholder: "a folder, such as ~/project", "aria-label": "Folder on the machine of the service", dir: "ltr" });
  const tenant = make("input", { type: "text", value: "default", "aria-label": "Tenant" });
  const reading = make("select", { "aria-label": "Read as" }, ...[["", "by its looks"], ["story", "a story"], ["notes", "notes"]].map(([value, text]) => make("option", { value }, text)));
  const state = make("div", { id: "index-state", role: "status" });
  const form = make("form", { id: "index-form", class: "inline-form" }, make("label", {}, "Folder ", path), make("label", {}, "Tenant ", tenant), make("label", {}, "Read as ", reading),
    make("button", { type: "submit", class: "primary" }, "Index"));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      follow(state, await send("write/index", { path: path.value, tenant: tenant.value || "default", reading: reading.value }));
    } catch (error) {
      state.replaceChildren(make("p", { class: "problem" }, refusalOf(error)));
    }
  });
  ask("indexing", "").then((found) => { if (found.state === "running") follow(state, found); });
  return make("section", { class: "panel wide" }, make("h2", {}, "Index a folder"), form, state);
}

async function follow(box, found) {
  if (found.state === "running") {
    const bar = make("progress", { "aria-label": "Indexing", max: found.total ?? null, value: found.total ? found.done : null });
    box.replaceChildren(bar, make("p", { dir: "auto" }, `${found.path}: ${found.stage}${found.done ? ` ${count(found.done)}` : ""}${found.total ? ` of ${count(found.total)}` : ""}`));
    await new Promise((resolve) => { setTimeout(resolve, POLL_MS); });
    return follow(box, await ask("indexing", ""));
  }
  if (found.state === "failed") {
    box.replaceChildren(make("p", { class: "problem" }, found.problem));
    return null;
  }
  choices = null;
  await view.redraw();
  byId("index-state").replaceChildren(
    make("p", { class: "good" }, `✓ ${found.path}: ${count(found.written)} written, ${count(found.unchanged)} unchanged, ${count(found.removed)} removed`),
    ...found.problems.map(([where, reason]) => make("p", { class: "problem", dir: "auto" }, `${where}: ${reason}`)));
  return null;
}

view.redraw();
