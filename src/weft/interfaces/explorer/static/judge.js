// Judge: the marked lines, how the settings of the address do on them, and the set for `weft eval`.

import { announce, byId, count, make, plural } from "./dom.js";
import { askAddress, empty, setUpView, show } from "./frame.js";
import { dropMark, readMarks, writeMarks } from "./marks.js";
import { ask, refusalOf, send } from "./service.js";

let choices = null;
const view = setUpView(draw);

async function draw(query) {
  choices ??= await ask("choices", "");
  const marks = readMarks();
  if (!marks.length) {
    byId("choices").replaceChildren();
    show(empty("No line is marked yet", make("p", {}, "Ask a question, walk to a line, and press ", make("kbd", {}, "y"), " if it is needed or ", make("kbd", {}, "u"), " if it is noise. The marks become a set of questions for ", make("code", {}, "weft eval"), ".")));
    return;
  }
  byId("choices").replaceChildren(settings(query));
  const { score, set } = await send("judge", { marks, asked: query.toString() });
  show(headline(score), actions(marks, set), make("ul", { class: "marked" }, ...score.questions.map((each) => question(each, query))));
}

function settings(query) {
  const profile = make("select", { name: "profile" }, make("option", { value: "" }, "by the store"), ...choices.profiles.map((each) => make("option", { value: each.name }, each.name)));
  profile.value = query.get("profile") ?? "";
  const number = (name, attributes) => make("input", { type: "number", name, value: query.get(name) ?? "", placeholder: "own", ...attributes });
  const form = make("form", { class: "settings-form", "aria-label": "Settings that are judged" }, make("label", {}, "Profile ", profile),
    make("label", {}, "Budget ", number("max_tokens", { min: 1, max: 1000000 })), make("label", {}, "Floor ", number("floor", { min: 0, max: 1, step: 0.05 })));
  form.addEventListener("change", () => view.go(Object.fromEntries(["profile", "max_tokens", "floor"].map((name) => [name, form.elements.namedItem(name).value]))));
  form.addEventListener("submit", (event) => event.preventDefault());
  return form;
}

function headline(score) {
  const yes = score.questions.filter((each) => each.grade === "yes").length;
  const asked = score.questions.filter((each) => each.grade !== null).length;
  return make("div", {}, make("p", { id: "score", class: "score" }, `${count(score.found)} of ${plural(score.needed, "needed line")}, ${count(score.shown)} of ${plural(score.noise, "noise line")}`),
    make("p", { class: "hint-text" }, `${count(yes)} of ${plural(asked, "question")} answered in full with these settings.`));
}

function actions(marks, set) {
  const save = async () => {
    try {
      const { file } = await send("write/judged", { marks });
      announce(`Saved as ${file}`);
    } catch (error) {
      announce(refusalOf(error));
    }
  };
  const download = () => {
    const address = URL.createObjectURL(new Blob([JSON.stringify(set, null, 2)], { type: "application/json" }));
    make("a", { href: address, download: "weft-marks.json" }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  };
  const clear = () => {
    const before = readMarks();
    writeMarks([]);
    view.redraw();
    byId("choices").replaceChildren(make("button", { type: "button", onclick: () => { writeMarks(before); view.redraw(); } }, `Undo: bring back ${plural(before.length, "mark")}`));
  };
  return make("div", { class: "actions" }, set ? make("button", { type: "button", onclick: download }, "Download the set") : null,
    set && choices.writes ? make("button", { type: "button", onclick: save }, "Save beside the store") : null,
    make("button", { type: "button", onclick: clear }, "Remove all marks"));
}

function question(each, query) {
  const lines = [...each.needed.map(([line, there]) => [line, there, true]), ...each.noise.map(([line, there]) => [line, there, false])];
  const state = (there, needed) => {
    const good = there === needed;
    return make("span", { class: `badge ${good ? "confirmed" : "falsified"}` }, needed ? (there ? "on the page" : "missing") : (there ? "noise shown" : "noise gone"));
  };
  const settings = Object.fromEntries([...query].filter(([name]) => name !== "tenants"));
  return make("li", {}, make("a", { class: "prompt", dir: "auto", href: askAddress(each.question, query.getAll("tenants"), settings) }, each.question),
    make("small", {}, ` ${each.grade ?? "noise only"} · ${count(each.tokens)} tokens`),
    make("ul", {}, ...lines.map(([line, there, needed]) => make("li", {}, state(there, needed), make("span", { class: "said", dir: "auto" }, line),
      make("button", { type: "button", class: "quiet", "aria-label": `Take the mark back: ${line}`, onclick: () => { dropMark(each.question, line); view.redraw(); } }, "✕")))));
}

view.redraw();
