// Neighbourhood: the links around the chosen item, in rings; what is not on the page is faint.

import { byId, count, hueOf, make, refOf } from "./dom.js";
import { drawRings } from "./rings.js";
import { ask, refusalOf } from "./service.js";

// The padding of the panel in pixels, and the width to draw for while it is not shown.
const PADDING = 10;
const LEAST_WIDTH = 340;

export class Around {
  constructor(onStart) {
    this.element = byId("around");
    this.onStart = onStart;
    this.asked = "";
  }

  // Draw around a row of the answer; the same row is not asked for twice.
  async draw(answer, row, asOf) {
    if (!answer || row < 0) {
      this.asked = "";
      this.element.replaceChildren(make("p", { class: "none" }, "Choose a line of the page or a candidate; what is around it is drawn here."));
      return;
    }
    const { key } = answer.rows[row];
    const query = new URLSearchParams({ key });
    for (const tenant of answer.tenants) query.append("tenants", tenant);
    if (asOf) query.set("as_of", asOf);
    if (`${query} ${answer.hash}` === this.asked) return;
    const asked = `${query} ${answer.hash}`;
    this.asked = asked;
    try {
      const found = await ask("around", query);
      if (this.asked === asked) this.#show(answer, found);
    } catch (error) {
      this.element.replaceChildren(make("p", { class: "none problem" }, refusalOf(error)));
    }
  }

  #show(answer, found) {
    const rows = new Map(answer.rows.map((row) => [refOf(row), row]));
    const nodes = found.nodes.map((node) => {
      const row = rows.get(refOf(node));
      const isPrinted = row !== undefined && row.detail !== "dropped";
      return { ...node, dropped: !isPrinted, says: isPrinted ? `on the page as ${row.detail}` : row ? `left out: ${row.reason}` : "not considered" };
    });
    const types = [...new Set(found.links.map((link) => link.type))].sort();
    const legend = types.map((type) => make("span", {}, make("i", { class: "dot", "--hue": hueOf(types, type) }), `${type} ${count(found.links.filter((link) => link.type === type).length)}`));
    this.element.replaceChildren(
      nodes.length > 1 ? drawRings(nodes, found.links, (node) => this.onStart(node.key), (this.element.clientWidth || LEAST_WIDTH) - 2 * PADDING, types) : make("p", { class: "none" }, `Nothing is linked to ${nodes[0].title}.`),
      make("p", { class: "legend" }, ...legend, found.left_out ? make("span", {}, `${count(found.left_out)} more links are not drawn`) : null,
        make("span", {}, "Faint: not on the page. Choose one to start from it.")));
  }
}
