// Draw Markdown line by line: a line of the page stays one element, so that it can be traced to its source.

import { make } from "./dom.js";

const INLINE = /(`+)(.+?)\1|\*\*(.+?)\*\*|(?<![\w*])\*([^*\s][^*]*)\*(?!\w)|\[([^\]]*)\]\(([^)\s]*)\)|\\([!-/:-@[-`{-~])|&(lt|gt|amp|quot|#39);/gu;
const ENTITIES = { lt: "<", gt: ">", amp: "&", quot: '"', "#39": "'" };

function drawInline(text) {
  const parts = [];
  let end = 0;
  for (const found of text.matchAll(INLINE)) {
    parts.push(text.slice(end, found.index));
    end = found.index + found[0].length;
    if (found[2] !== undefined) parts.push(make("code", {}, found[2]));
    else if (found[3] !== undefined) parts.push(make("strong", {}, ...drawInline(found[3])));
    else if (found[4] !== undefined) parts.push(make("em", {}, ...drawInline(found[4])));
    // Not a link: what is stored does not lead the reader away from this host.
    else if (found[5] !== undefined) parts.push(make("span", { class: "target", title: found[6] }, found[5]));
    else if (found[7] !== undefined) parts.push(found[7]);
    else parts.push(ENTITIES[found[8]]);
  }
  parts.push(text.slice(end));
  return parts.filter((part) => part !== "");
}

// Return for each line its class and its children.
export function drawMarkdown(lines) {
  let fence = "";
  return lines.map((line) => {
    const mark = line.match(/^\s*(`{3,}|~{3,})(.*)$/);
    if (fence) {
      if (mark && mark[1].startsWith(fence) && !mark[2].trim()) {
        fence = "";
        return ["fence", [""]];
      }
      return ["code", [line || " "]];
    }
    if (mark) {
      fence = mark[1];
      return ["fence", [mark[2].trim()]];
    }
    const heading = line.match(/^(#{1,6})\s+(.*)$/);
    if (heading) return [`h${Math.min(4, heading[1].length)}`, drawInline(heading[2])];
    if (!line.trim()) return ["blank", [""]];
    const item = line.match(/^(\s*)[-*+]\s+(.*)$/);
    if (item) return ["item", [`${item[1]}• `, ...drawInline(item[2])]];
    if (/^\s*>/.test(line)) return ["quote", drawInline(line.replace(/^\s*>\s?/, ""))];
    if (/^\s*\|.*\|\s*$/.test(line)) return ["table", [line]];
    return ["", drawInline(line)];
  });
}
