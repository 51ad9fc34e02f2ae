// The explorer: the address is the state, every change of it redraws at once.

import { Around } from "./around.js";
import { Spending } from "./spending.js";
import { Controls } from "./controls.js";
import { Correcting, offerUndo } from "./correct.js";
import { announce, byId, count, make, plural, refOf } from "./dom.js";
import { drawCard, explainName, openSource } from "./explain.js";
import { setUpFrame } from "./frame.js";
import { handleKeys } from "./keys.js";
import { Ledger } from "./ledger.js";
import { marksOf, toggleMark } from "./marks.js";
import { Reading } from "./read.js";
import { ask, refusalOf } from "./service.js";
import { askedQuery, readState, writeState } from "./state.js";

// After so long without a change the costly question is asked: what other budgets would bring.
const GROWTH_AFTER_MS = 500;

let state = readState();
let answer = null;
let chosen = { row: -1, line: -1, key: "" };
let asking = false;
let isStale = false;
let growthTimer = 0;
let growthAbort = null;

const controls = new Controls((changes) => change(changes));
const reading = new Reading(choose, openChosen);
const budget = new Spending(choose);
const around = new Around((key) => change({ topic: [key], line: "" }));
const correcting = new Correcting(corrected);
const ledger = new Ledger(choose, (sort) => changeShown({ sort: state.sort === sort ? "" : sort }));

// --- changing the state ---

function change(changes) {
  state = { ...state, ...changes };
  writeState(state, true);
  showControls();
  redraw();
}

function changeShown(changes) {
  state = { ...state, ...changes };
  writeState(state, false);
  showControls();
  if (answer) drawAnswer(false);
}

function showControls() {
  controls.show(state);
  const topics = state.topic.length ? state.topic : [""];
  byId("chips").replaceChildren(...topics.slice(0, -1).map((topic, place) =>
    make("span", { class: "chip" }, make("span", { dir: "auto", title: topic }, topic),
      make("button", { type: "button", "aria-label": `Remove ${topic}`, onclick: () => change({ topic: state.topic.filter((_, other) => other !== place) }) }, "✕"))));
  const box = byId("question");
  if (box.value !== topics.at(-1)) box.value = topics.at(-1);
  document.body.dataset.pane = state.pane || "page";
  document.body.dataset.sideShown = state.side || "ledger";
  for (const button of document.querySelectorAll("[data-pane-to]")) button.setAttribute("aria-pressed", String(button.dataset.paneTo === document.body.dataset.pane));
  for (const button of document.querySelectorAll("[data-show]")) button.setAttribute("aria-pressed", String(button.dataset.show === (state.show || "all")));
  for (const button of document.querySelectorAll("[data-side-to]")) button.setAttribute("aria-pressed", String(button.dataset.sideTo === (state.side || "ledger")));
  for (const element of document.querySelectorAll("[data-side]")) element.hidden = element.dataset.side !== (state.side || "ledger");
  byId("raw").setAttribute("aria-pressed", String(state.view === "raw"));
  byId("rendered").setAttribute("aria-pressed", String(state.view !== "raw"));
  if (document.activeElement !== byId("find")) byId("find").value = state.find;
  // Comparing begins with this page on both sides.
  const both = new URLSearchParams([["left", askedQuery(state)], ["right", askedQuery(state)]]);
  document.querySelector("[data-view-to=compare]").href = `/explore/view/compare${topics.at(-1) ? `?${both}` : ""}`;
  document.querySelector("[data-view-to=judge]").href = `/explore/view/judge?${askedQuery({ ...state, topic: [] })}`;
  document.title = topics.at(-1) ? `${topics.filter(Boolean).join(" + ")} · Weft` : "Weft explorer";
}

// --- asking and drawing ---

async function redraw() {
  clearTimeout(growthTimer);
  growthAbort?.abort();
  // One question at a time, and then the newest: while a slider moves, what lies between is never asked.
  isStale = true;
  if (asking) return;
  asking = true;
  while (isStale) {
    isStale = false;
    await askAndDraw();
  }
  asking = false;
}

async function askAndDraw() {
  const isEmpty = !state.topic.some((topic) => topic.trim());
  if (isEmpty && !controls.profileOf(state)?.asks_itself) {
    drawEmpty();
    return;
  }
  try {
    answer = await ask("page", askedQuery(state));
    if (controls.answered !== answer.profile && !state.profile) {
      controls.answered = answer.profile;
      showControls();
    }
    drawAnswer(true);
    growthTimer = setTimeout(askForGrowth, GROWTH_AFTER_MS);
  } catch (error) {
    drawRefusal(error);
  }
}

function drawRefusal(error) {
  drawNothing(make("h3", {}, "No page"), make("p", { class: "problem" }, refusalOf(error)));
}

function drawNothing(...children) {
  answer = null;
  document.documentElement.dataset.empty = "yes";
  chosen = { row: -1, line: -1, key: "" };
  reading.showEmpty(...children);
  budget.clear();
  ledger.clear();
  drawAround();
  byId("notes").replaceChildren();
  byId("figures").textContent = "";
  byId("counts").textContent = "";
  byId("why-answer").hidden = true;
  drawCard(null, -1, null, {});
}

function drawEmpty() {
  const { examples, tenants } = controls.choices ?? { examples: [], tenants: [] };
  if (!tenants.length) {
    drawNothing(make("h3", {}, "The store is empty"), make("p", {}, "Index a folder with ", make("code", {}, "weft index PATH"), ", then reload this page."));
    return;
  }
  drawNothing(make("h3", {}, "See what the model will read, and why"),
    make("p", {}, "Ask a question in words, or name something stored. The page is made while you type."),
    make("div", { class: "offers" }, ...examples.map((example) =>
      make("button", { type: "button", dir: "auto", onclick: () => change({ topic: [example.title], tenants: [...new Set([...state.tenants, example.tenant])] }) }, example.title))));
}

function drawAnswer(isNew) {
  drawParts(isNew);
  // The page that is drawn, for those who wait for it: tests and the measure of speed.
  document.body.dataset.drawn = answer.hash;
}

function drawParts(isNew) {
  delete document.documentElement.dataset.empty;
  const printed = answer.rows.filter((row) => row.detail !== "dropped").length;
  byId("notes").replaceChildren(...answer.notes.map((note) => make("p", { dir: "auto" }, note)));
  const limit = answer.max_tokens === null ? "no limit" : `of ${count(answer.max_tokens)}`;
  const relevance = answer.relevance === undefined || answer.relevance === null ? "" : ` · relevance ${answer.relevance.toFixed(2)}`;
  byId("figures").textContent = `${count(answer.tokens)} ${limit} tokens${relevance}`;
  byId("figures").title = `Counted by ${answer.token_model}`;
  byId("counts").textContent = `${plural(printed, "item")} printed, ${count(answer.rows.length - printed)} left out`;
  reading.draw(answer, state.view === "raw");
  reading.showMarks(marksOf(questionOf()));
  budget.draw(answer);
  ledger.draw(answer, state);
  if (!isNew) {
    light(chosen.row, chosen.line);
    drawAround();
    return;
  }
  // What was chosen stays chosen, wherever it now stands.
  const row = answer.rows.findIndex((each) => each.key === chosen.key);
  const line = Number(state.line) - 1;
  if (chosen.key === "" && state.line && reading.lines[line]) reading.walkTo(line);
  else choose(row, row < 0 ? -1 : reading.spans.findIndex((span) => span?.row === row), false);
  drawAround();
}

async function askForGrowth() {
  growthAbort = new AbortController();
  const asked = answer;
  try {
    const growth = await ask("growth", askedQuery(state), growthAbort.signal);
    if (answer !== asked) return;
    const appears = new Map(growth.appears.map(([tenant, key, from]) => [refOf({ tenant, key }), from]));
    for (const row of answer.rows) row.appears = appears.get(refOf(row));
    budget.showGains(growth);
    budget.light(chosen.row);
    ledger.draw(answer, state);
    drawChosen();
  } catch (error) {
    // The page stands without it, and the next change asks again.
    if (error.name !== "AbortError") refusalOf(error);
  }
}

// --- one chosen item, lit in all views ---

function drawAround() {
  if (state.side === "around") around.draw(answer, chosen.row >= 0 ? chosen.row : answer?.rows.length ? 0 : -1, state.as_of);
}

function choose(row, line, isFixed) {
  chosen = { row, line, key: answer?.rows[row]?.key ?? "" };
  light(row, line, isFixed);
  // Pointing at lines only lights them; the drawing follows what is chosen.
  if (isFixed || !answer) drawAround();
  if (isFixed && line < 0) reading.scrollToRow(row);
  if (isFixed && line >= 0) {
    state = { ...state, line: String(line + 1) };
    writeState(state, false);
  }
}

function light(row, line, scroll = false) {
  reading.light(row, line);
  budget.light(row);
  ledger.light(row, scroll);
  drawChosen();
}

function chosenSpan() {
  return reading.spans[chosen.line] ?? reading.spans.find((span) => span?.row === chosen.row && span.from);
}

function drawChosen() {
  drawCard(answer, chosen.row, chosen.line >= 0 || chosen.row >= 0 ? chosenSpan() : null, 
    { open: openChosen, why: explainChosen, start: startFromChosen, mark, correct: controls.choices?.writes ? correctChosen : null });
}

function openChosen() {
  const row = answer?.rows[chosen.row];
  if (!row) return;
  const span = chosenSpan();
  openSource(row.key, row.tenant, state.as_of, span?.from, span?.to);
}

function explainChosen() {
  const row = answer?.rows[chosen.row];
  if (row) explainName(askedQuery(state), row.key, applyWay);
}

function startFromChosen() {
  const row = answer?.rows[chosen.row];
  if (row) change({ topic: [row.key], line: "" });
}

function applyWay(way) {
  if (way.why) {
    byId("why-name").value = way.why;
    explainName(askedQuery(state), way.why, applyWay);
    return;
  }
  const changes = {};
  for (const [name, value] of Object.entries(way.set ?? {})) changes[name] = name === "topic" ? [value] : value === null ? "" : String(value);
  for (const [name, value] of Object.entries(way.add ?? {})) changes[name] = [...(name === "tenants" && !state.tenants.length ? answer.tenants : state[name]), value];
  byId("why-answer").hidden = true;
  change(changes);
}

// --- marks ---

const questionOf = () => state.topic.filter(Boolean).join(" ");

function mark(needed) {
  const line = reading.lines[chosen.line];
  if (!line || !answer || !reading.spans[chosen.line]?.key) {
    announce("Choose a line with a source first.");
    return;
  }
  announce(toggleMark(questionOf(), reading.textOf(chosen.line), needed));
  reading.showMarks(marksOf(questionOf()));
}

// --- corrections ---

function correctChosen() {
  const row = answer?.rows[chosen.row];
  if (!controls.choices?.writes) announce("This explorer only looks. Start it with: weft explore --write");
  else if (!row) announce("Choose a line or a candidate first.");
  else correcting.open(row, askedQuery(state));
}

async function corrected(undo, proposal) {
  const isPage = proposal.action === "page";
  // What was chosen may be gone, and a profile of one's own is in the list from now on.
  if (isPage) controls.choices = await ask("choices", "");
  offerUndo(isPage ? `Saved as the profile ${proposal.name}, which is used now` : "Corrected", undo, async () => {
    controls.choices = await ask("choices", "");
    change(isPage && state.profile === proposal.name ? { profile: "", lens: "" } : {});
  });
  change(isPage ? { profile: proposal.name, lens: "" } : {});
}

// --- the question ---

function changeQuestion() {
  change({ topic: [...state.topic.slice(0, -1), byId("question").value], line: "" });
}

function addTopic() {
  if (byId("question").value.trim()) change({ topic: [...state.topic, ""] });
  byId("question").focus();
}

byId("question").addEventListener("input", changeQuestion);
byId("question").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && event.shiftKey) addTopic();
  else if (event.key === "Enter") {
    byId("page").focus();
    if (reading.current < 0) reading.walk(1);
  } else if (event.key === "ArrowDown") byId("page").focus();
  else if (event.key === "Backspace" && !event.target.value && state.topic.length > 1) change({ topic: state.topic.slice(0, -1) });
  else return;
  event.preventDefault();
});
byId("add-topic").addEventListener("click", addTopic);
byId("why-not").addEventListener("submit", (event) => {
  event.preventDefault();
  const name = byId("why-name").value.trim();
  if (name && answer) explainName(askedQuery(state), name, applyWay);
});
byId("find").addEventListener("input", (event) => changeShown({ find: event.target.value }));
byId("raw").addEventListener("click", () => changeShown({ view: "raw" }));
byId("rendered").addEventListener("click", () => changeShown({ view: "" }));
byId("copy").addEventListener("click", () => reading.copy());
byId("download").addEventListener("click", () => reading.download());
for (const button of document.querySelectorAll("[data-pane-to]")) button.addEventListener("click", () => changeShown({ pane: button.dataset.paneTo }));
for (const button of document.querySelectorAll("[data-side-to]")) button.addEventListener("click", () => changeShown({ side: button.dataset.sideTo === "ledger" ? "" : button.dataset.sideTo }));
for (const button of document.querySelectorAll("[data-show]")) button.addEventListener("click", () => changeShown({ show: button.dataset.show === "all" ? "" : button.dataset.show }));
addEventListener("popstate", () => {
  state = readState();
  chosen = { row: -1, line: -1, key: "" };
  showControls();
  redraw();
});

setUpFrame();
handleKeys({
  walk: (by, inLedger) => (inLedger ? ledger : reading).walk(by),
  open: openChosen,
  why: explainChosen,
  start: startFromChosen,
  step: (direction) => controls.step(state, direction),
  copy: () => reading.copy(),
  download: () => reading.download(),
  raw: () => changeShown({ view: state.view === "raw" ? "" : "raw" }),
  mark,
  correct: correctChosen,
  ledger: () => changeShown({ side: "" }),
  around: () => changeShown({ side: state.side === "around" ? "" : "around", pane: "why" }),
  compare: () => document.querySelector("[data-view-to=compare]").click(),
  pane: (pane) => changeShown({ pane: pane === "page" ? "" : pane }),
});

if (matchMedia("(max-width: 820px)").matches) document.querySelector(".settings").open = false;
showControls();
try {
  controls.choices = await ask("choices", "");
  showControls();
  if (!state.topic.length) byId("question").focus();
  await redraw();
} catch (error) {
  drawRefusal(error);
}
document.body.dataset.ready = "yes";
