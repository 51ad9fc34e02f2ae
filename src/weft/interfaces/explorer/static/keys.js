// The keys of the page that asks; `?` lists them (templates/explore.html). Keys of all views are in frame.js.

import { byId } from "./dom.js";
import { frameKeys, isField } from "./frame.js";

export function handleKeys(actions) {
  const goTo = (id, pane) => () => {
    if (pane) actions.pane(pane);
    const element = byId(id);
    element.focus();
    element.select?.();
  };
  const focused = () => document.activeElement;
  const walk = (by) => () => actions.walk(by, focused()?.id === "ledger");
  const simple = {
    "/": goTo("question"), p: goTo("page", "page"), l: () => { actions.ledger(); goTo("ledger", "why")(); }, n: () => { actions.ledger(); goTo("why-name", "why")(); },
    b: () => { document.querySelector(".settings").open = true; byId("budget-slider").focus(); },
    j: walk(1), k: walk(-1), "[": () => actions.step(-1), "]": () => actions.step(1), w: actions.why, s: actions.start,
    y: () => actions.mark(true), u: () => actions.mark(false), e: actions.correct, g: actions.around, x: actions.compare, r: actions.raw, c: actions.copy, d: actions.download, ...frameKeys,
  };
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (document.querySelector("dialog[open]")) return;
    const element = focused();
    if (event.key === "Escape") {
      if (isField(element)) byId("page").focus();
      else byId("why-answer").hidden = true;
      return;
    }
    if (isField(element)) return;
    const isList = element?.id === "page" || element?.id === "ledger";
    let action = simple[event.key];
    if (isList && event.key === "ArrowDown") action = walk(1);
    if (isList && event.key === "ArrowUp") action = walk(-1);
    if (isList && event.key === "Enter") action = actions.open;
    if (!action) return;
    event.preventDefault();
    action();
  });
}
