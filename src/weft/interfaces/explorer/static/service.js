// Ask the service, with the key where it wants one.

import { byId } from "./dom.js";

const KEPT = "weft-key";

export class Refused extends Error {}

let waitingForKey = null;

function askForKey(problem) {
  if (waitingForKey) return waitingForKey;
  const dialog = byId("key-needed");
  byId("key-problem").textContent = problem;
  waitingForKey = new Promise((resolve) => {
    byId("key-form").onsubmit = () => {
      sessionStorage.setItem(KEPT, byId("key").value.trim());
      byId("key").value = "";
      waitingForKey = null;
      resolve();
    };
  });
  dialog.oncancel = (event) => event.preventDefault();
  dialog.showModal();
  return waitingForKey;
}

export async function ask(route, query, signal) {
  const key = sessionStorage.getItem(KEPT);
  const headers = key ? { Authorization: `Bearer ${key}` } : {};
  let response;
  try {
    response = await fetch(`/explore/${route}?${query}`, { headers, signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused("The service does not answer. Is `weft explore` or `weft serve` still running?");
  }
  if (response.status === 401) {
    await askForKey(key ? "That key is not in use here." : "");
    return ask(route, query, signal);
  }
  if (response.ok) return response.json();
  let detail = `The service answered with ${response.status}.`;
  try {
    detail = (await response.json()).detail ?? detail;
  } catch {
    // A proxy in between may answer with something else than a problem document.
  }
  throw new Refused(detail);
}
