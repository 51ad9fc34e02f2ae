// Corrections: what was corrected by hand, each with its undo.

import { announce, byId, make } from "./dom.js";
import { empty, setUpView, show, when } from "./frame.js";
import { ask, refusalOf, send } from "./service.js";

let choices = null;
const view = setUpView(draw);

async function draw() {
  choices ??= await ask("choices", "");
  const { corrections } = await ask("corrections", "");
  byId("choices").replaceChildren();
  if (!corrections.length) {
    show(empty("Nothing was corrected yet", make("p", {}, choices.writes ? "Choose a line or candidate of a page and press " : "Start the explorer with ", choices.writes ? make("kbd", {}, "e") : make("code", {}, "weft explore --write"), choices.writes ? "." : " to forget, edit, tag, merge and raise what pages show.")));
    return;
  }
  show(make("ul", { class: "learned corrections" }, ...corrections.map((each) => make("li", {}, make("span", { class: "badge" }, each.undo.of === "page" ? "profile" : each.undo.of),
    make("div", {}, make("p", { dir: "auto" }, each.says), make("small", {}, [when(each.at), each.undo.tenant].filter(Boolean).join(" · "))),
    choices.writes ? make("button", { type: "button", "aria-label": `Undo: ${each.says}`, onclick: () => undo(each) }, "Undo") : null))));
}

async function undo(each) {
  try {
    await send("write/undo", each.undo);
    announce("Undone");
  } catch (error) {
    announce(refusalOf(error));
  }
  view.redraw();
}

view.redraw();
