// The state of the view, which is the address and nothing else.

const ASKED = ["topic", "profile", "lens", "max_tokens", "floor", "format", "tenants", "as_of"];
const SHOWN = ["view", "show", "find", "sort", "pane", "side", "line"];
const SEVERAL = new Set(["topic", "tenants"]);
// Changes within this time are one step of the browser's history: typing a question is one step.
const ONE_STEP_MS = 1500;

// Long before the page was loaded, so that its first change is a step of its own.
let changedAt = -ONE_STEP_MS;

export function readState() {
  const query = new URLSearchParams(location.search);
  const state = {};
  for (const name of [...ASKED, ...SHOWN]) {
    if (SEVERAL.has(name)) state[name] = query.getAll(name);
    else state[name] = query.get(name) ?? "";
  }
  return state;
}

function toQuery(state, names) {
  const query = new URLSearchParams();
  for (const name of names) {
    for (const value of SEVERAL.has(name) ? state[name] : [state[name]]) {
      if (value !== "" && value !== null && value !== undefined) query.append(name, value);
    }
  }
  return query;
}

// What the server is asked for: the part of the state that decides what the page holds.
export const askedQuery = (state) => toQuery(state, ASKED);

export function writeState(state, asStep) {
  const query = toQuery(state, [...ASKED, ...SHOWN]).toString();
  const address = query ? `/explore?${query}` : "/explore";
  sessionStorage.setItem("weft-asked", address);
  if (address === location.pathname + location.search) return;
  const now = performance.now();
  if (asStep && now - changedAt > ONE_STEP_MS) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
  if (asStep) changedAt = now;
}
