// The controls: show the state in them, and change the state by them.

import { byId, make } from "./dom.js";

const least = Number(document.body.dataset.least);
const most = Number(document.body.dataset.most);

// The slider is logarithmic: a step is the same factor everywhere, for 200 tokens as for 32,000.
function toBudget(position) {
  const budget = least * (most / least) ** (position / 1000);
  const step = budget < 1000 ? 10 : budget < 10000 ? 50 : 250;
  return Math.max(least, Math.min(most, Math.round(budget / step) * step));
}

const toPosition = (budget) =>
  Math.round((1000 * Math.log(Math.max(least, Math.min(most, budget)) / least)) / Math.log(most / least));

export class Controls {
  constructor(change) {
    this.change = change;
    this.choices = null;
    // The profile that the store chose for the last page, where the address names none.
    this.answered = "";
    const on = (id, event, handle) => byId(id).addEventListener(event, handle);
    byId("controls").addEventListener("submit", (event) => event.preventDefault());
    on("budget-slider", "input", (event) => change({ max_tokens: String(toBudget(Number(event.target.value))) }));
    on("budget-number", "input", (event) => { if (Number(event.target.value) >= 1) change({ max_tokens: event.target.value }); });
    // A lens belongs to its profile, and so do the budget, floor and format that were not chosen.
    on("profile", "change", (event) => change({ profile: event.target.value, lens: "" }));
    on("lens", "change", (event) => change({ lens: event.target.value }));
    on("format", "change", (event) => change({ format: event.target.value }));
    on("floor", "input", (event) => change({ floor: event.target.value }));
    on("as-of", "input", (event) => change({ as_of: event.target.value }));
  }

  profileOf(state) {
    const profiles = this.choices?.profiles ?? [];
    return profiles.find((each) => each.name === (state.profile || this.answered || "general")) ?? profiles[0];
  }

  budgetOf(state) {
    return Number(state.max_tokens || this.profileOf(state)?.max_tokens || 4000);
  }

  step(state, direction) {
    this.change({ max_tokens: String(toBudget(toPosition(this.budgetOf(state)) + 25 * direction)) });
  }

  show(state) {
    const profile = this.profileOf(state);
    if (!profile) return;
    const fill = (id, options, chosen) => {
      const select = byId(id);
      const wanted = options.map((option) => option.name).join("\n");
      if (select.dataset.filled !== wanted) {
        select.dataset.filled = wanted;
        select.replaceChildren(...options.map((option) => make("option", { value: option.name, title: option.description }, option.label ?? option.name)));
      }
      select.value = chosen;
    };
    fill("profile", this.choices.profiles, profile.name);
    byId("profile").title = profile.description;
    fill("lens", profile.lenses, state.lens || profile.lens);
    byId("format").value = state.format || profile.format;
    const budget = this.budgetOf(state);
    byId("budget-slider").value = toPosition(budget);
    byId("budget-slider").setAttribute("aria-valuetext", `${budget} tokens`);
    if (document.activeElement !== byId("budget-number")) byId("budget-number").value = budget;
    const floor = state.floor || profile.floor;
    byId("floor").value = floor;
    byId("floor-value").textContent = Number(floor).toFixed(2);
    if (document.activeElement !== byId("as-of")) byId("as-of").value = state.as_of;
    this.#showTenants(state);
  }

  #showTenants(state) {
    const { tenants, chosen } = this.choices;
    byId("tenants").hidden = tenants.length < 2;
    const read = new Set(state.tenants.length ? state.tenants : chosen);
    // Made once, then only checked: a key press must not build what does not change.
    const made = [...byId("tenant-choices").querySelectorAll("input")];
    if (made.map((box) => box.value).join("\n") === tenants.join("\n")) {
      for (const box of made) box.checked = read.has(box.value);
      return;
    }
    const boxes = tenants.map((tenant) => {
      const box = make("input", { type: "checkbox", value: tenant, onchange: () => {
        const checked = [...byId("tenant-choices").querySelectorAll(":checked")].map((each) => each.value);
        this.change({ tenants: checked });
      } });
      box.checked = read.has(tenant);
      return make("label", {}, box, tenant);
    });
    byId("tenant-choices").replaceChildren(...boxes);
  }
}
