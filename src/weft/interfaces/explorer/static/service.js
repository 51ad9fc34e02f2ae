// Ask the service, with the key where it wants one.

import { byId } from "./dom.js";

const KEPT = "weft-key";

class Refused extends Error {}

// What the service said against a request; any other error is thrown again.
export function refusalOf(error) {
  if (error instanceof Refused) return error.message;
  throw error;
}

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

// Ask for what a view draws.
export const ask = (route, query, signal) => call(`/explore/${route}?${query}`, { signal });

// Send a change, or something too long for an address; the header keeps pages of other hosts from doing so.
export const send = (route, body) => call(`/explore/${route}`, {
  method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json", "X-Weft-Explorer": "1" },
});

async function call(address, options) {
  const key = sessionStorage.getItem(KEPT);
  const headers = key ? { ...options.headers, Authorization: `Bearer ${key}` } : options.headers;
  let response;
  try {
    response = await fetch(address, { ...options, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused("The service does not answer. Is `weft explore` or `weft serve` still running?");
  }
  if (response.status === 401) {
    await askForKey(key ? "That key is not in use here." : "");
    return call(address, options);
  }
  if (response.ok) return response.json();
  let detail = `The service answered with ${response.status}.`;
  try {
    const problem = await response.json();
    detail = typeof problem.detail === "string" ? problem.detail : detail;
  } catch {
    // A proxy in between may answer with something else than a problem document.
  }
  throw new Refused(detail);
}
