// What all views share: light and dark, the list of keys, dialogs, and the way from view to view.

import { announce, byId, make } from "./dom.js";
import { refusalOf } from "./service.js";

function toggleTheme() {
  const isDark = getComputedStyle(document.documentElement).colorScheme === "dark"
    || (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  const theme = isDark ? "light" : "dark";
  document.documentElement.dataset.theme = theme;
  localStorage.setItem("weft-theme", theme);
  announce(`${theme === "dark" ? "Dark" : "Light"} colours`);
}

export const isField = (element) => element?.matches("input:not([type=range], [type=checkbox]), select, textarea");

const viewLinks = () => [...document.querySelectorAll("[data-view-to]")];

export const frameKeys = { t: toggleTheme, "?": () => byId("keys").showModal() };
viewLinks().forEach((link, place) => { frameKeys[place + 1] = () => link.click(); });

export function setUpFrame() {
  byId("theme").addEventListener("click", toggleTheme);
  byId("help").addEventListener("click", () => byId("keys").showModal());
  for (const button of document.querySelectorAll("[data-close]")) button.addEventListener("click", () => button.closest("dialog").close());
  for (const dialog of document.querySelectorAll("dialog:not(#key-needed)")) {
    dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  }
  // On a phone the list of views is longer than the screen.
  document.querySelector(".views [aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });
  // The way back to the question leads to the one that was asked last in this tab.
  const asked = sessionStorage.getItem("weft-asked");
  const link = document.querySelector("[data-view-to=ask]");
  if (asked && document.body.dataset.view !== "ask") link.href = asked;
}

// A view other than the one that asks: its state is the query of its address.
export function setUpView(draw, keys = {}) {
  setUpFrame();
  const all = { ...frameKeys, "/": () => document.querySelector("#choices input[type=search]")?.focus(), ...keys };
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.key === "Escape" && isField(document.activeElement)) byId("view").focus();
    if (isField(document.activeElement) || !all[event.key]) return;
    event.preventDefault();
    all[event.key]();
  });
  const redraw = async () => {
    try {
      await draw(new URLSearchParams(location.search));
    } catch (error) {
      show(make("p", { class: "problem" }, refusalOf(error)));
    }
    document.body.dataset.ready = "yes";
  };
  addEventListener("popstate", redraw);
  return { redraw, go: (changes) => { changeQuery(changes); return redraw(); } };
}

export const show = (...children) => byId("drawn").replaceChildren(...children);

function changeQuery(changes) {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    query.delete(name);
    for (const each of Array.isArray(value) ? value : [value]) if (each !== "" && each !== null) query.append(name, each);
  }
  history.pushState(null, "", query.size ? `${location.pathname}?${query}` : location.pathname);
}

// Where what is drawn is asked about: the page with a question, in the tenants it belongs to.
export function askAddress(topic, tenants, more = {}) {
  const query = new URLSearchParams({ topic, ...more });
  for (const tenant of tenants) query.append("tenants", tenant);
  return `/explore?${query}`;
}

export function tenantBoxes(all, chosen, onChange) {
  if (all.length < 2) return null;
  const boxes = all.map((tenant) => {
    const box = make("input", { type: "checkbox", value: tenant });
    box.checked = chosen.includes(tenant);
    return make("label", { class: "pill" }, box, tenant);
  });
  return make("fieldset", { class: "pills", onchange: (event) => onChange(
    [...event.currentTarget.querySelectorAll(":checked")].map((box) => box.value)) }, make("legend", {}, "Tenants"), ...boxes);
}

export function tenantSelect(all, chosen, onChange) {
  if (all.length < 2) return null;
  const select = make("select", { "aria-label": "Tenant", onchange: (event) => onChange(event.target.value) },
    ...all.map((tenant) => make("option", { value: tenant }, tenant)));
  select.value = chosen;
  return make("label", {}, "Tenant ", select);
}

export function tabs(label, options, chosen, onChange) {
  return make("div", { class: "toggle", role: "group", "aria-label": label },
    ...options.map(([name, text]) => make("button", { type: "button", "aria-pressed": String(name === chosen), onclick: () => onChange(name) }, text)));
}

export function empty(title, ...children) {
  return make("div", { class: "empty" }, make("h3", {}, title), ...children);
}

// A time as people of the browser's language and zone write it; dates alone for what is long ago.
export function when(text, withTime = true) {
  if (!text) return "";
  const time = new Date(text);
  const options = withTime ? { dateStyle: "medium", timeStyle: "short" } : { dateStyle: "medium" };
  return Number.isNaN(time.getTime()) ? text : time.toLocaleString("en-GB", options);
}
