// Numbers, times and elements. All text goes in by textContent, so no name can become markup.

const COUNT = new Intl.NumberFormat("en", { maximumSignificantDigits: 3, notation: "compact" });

export function count(value) {
  return value === null || value === undefined ? "–" : COUNT.format(value);
}

export function bytes(value) {
  if (value === null || value === undefined) return "–";
  let unit = 0;
  while (value >= 1000 && unit < 4) { value /= 1000; unit += 1; }
  const digits = value >= 100 || unit === 0 ? 0 : value >= 10 ? 1 : 2;
  return `${value.toFixed(digits)} ${["B", "kB", "MB", "GB", "TB"][unit]}/s`;
}

export function milliseconds(value) {
  if (value === null || value === undefined) return "–";
  return value >= 1000 ? `${(value / 1000).toFixed(2)} s` : `${value.toFixed(value < 10 ? 1 : 0)} ms`;
}

export function percent(value) {
  return value === null || value === undefined ? "–" : `${value.toFixed(value < 10 ? 1 : 0)} %`;
}

export function clock(ms) {
  return new Date(ms).toLocaleTimeString("en-GB");
}

export function seconds(ms) {
  const s = Math.max(0, Math.round(ms / 1000));
  return s < 120 ? `${s} s` : s < 7200 ? `${Math.round(s / 60)} min` : `${Math.round(s / 3600)} h`;
}

/** el("p", {class: "note"}, "text", child…) */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.filter((c) => c !== null && c !== undefined));
  return node;
}

export function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

export function table(heads, rows) {
  const cell = (tag, value) => value instanceof Node && value.matches?.("td,th") ? value : el(tag, {}, value);
  return el("div", { class: "scroll" }, el("table", {},
    el("thead", {}, el("tr", {}, ...heads.map((h) => cell("th", h)))),
    el("tbody", {}, ...rows.map((r) => r instanceof Node ? r : el("tr", {}, ...r.map((v) => cell("td", v)))))));
}

export function number(text, extra = "") {
  return el("td", { class: `number ${extra}` }, text);
}
