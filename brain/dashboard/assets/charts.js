// Small line charts over time with gaps where nothing was measured, and the moves marked.

import { clock, el, svg } from "./format.js";

const WIDTH = 420;
const HEIGHT = 150;
const LEFT = 8;
const TOP = 20;
const BOTTOM = 18;

export class Chart {
  /** series: [{key, class, name}], the first one filled if it has an area class. */
  constructor(root, title, series, format) {
    this.series = series;
    this.format = format;
    this.drawing = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img" });
    this.tip = el("div", { class: "tip", hidden: true });
    this.title = title;
    root.classList.add("chart");
    this.latest = series.map(() => el("b"));
    const keys = series.map((s, i) => el("span", { class: `key ${s.class}` }, el("i"), `${s.name} `, this.latest[i]));
    root.append(el("figcaption", {}, el("span", { class: "name" }, title), el("span", { class: "keys" }, ...keys)), this.drawing, this.tip);
    root.addEventListener("mousemove", (event) => this.#point(event));
    root.addEventListener("mouseleave", () => { this.tip.hidden = true; this.cursor?.remove(); });
    new ResizeObserver(([entry]) => {
      this.width = entry.contentRect.width;
      this.drawing.setAttribute("viewBox", `0 0 ${this.width} ${HEIGHT}`);
      if (this.data) this.update(this.data, this.moves);
    }).observe(this.drawing);
    this.width = WIDTH;
  }

  update(data, moves) {
    this.data = data;
    this.moves = moves;
    const times = data.time_ms;
    const parts = [];
    const values = this.series.flatMap((s) => data[s.key].filter((v) => v !== null));
    const top = round(Math.max(...values, 0)) || 1;
    const from = times[0] ?? 0;
    const to = Math.max(times.at(-1) ?? 1, from + 30000);
    this.x = (t) => LEFT + ((t - from) / (to - from)) * (this.width - 2 * LEFT);
    const y = (v) => HEIGHT - BOTTOM - (v / top) * (HEIGHT - TOP - BOTTOM);
    for (const share of [0, 0.5, 1]) {
      parts.push(svg("line", { class: "grid", x1: LEFT, x2: this.width - LEFT, y1: y(top * share), y2: y(top * share) }));
    }
    parts.push(svg("text", { x: LEFT, y: TOP - 5 }, values.length ? this.format(top) : "nothing measured yet"));
    if (values.length) parts.push(svg("text", { x: LEFT, y: y(top / 2) - 5 }, this.format(top / 2)));
    if (times.length) {
      parts.push(svg("text", { x: LEFT, y: HEIGHT - 4 }, clock(from)),
        svg("text", { x: this.width - LEFT, y: HEIGHT - 4, "text-anchor": "end" }, clock(to)));
    }
    for (const s of this.series) {
      if (s.area) parts.push(svg("path", { class: "area", d: path(times, data[s.key], this.x, y, y(0)) }));
      parts.push(svg("path", { class: s.class, d: path(times, data[s.key], this.x, y, null) }));
    }
    for (const move of moves.filter((m) => m.time_ms >= from && m.time_ms <= to)) {
      const at = this.x(move.time_ms);
      parts.push(svg("g", {}, svg("line", { class: "move", x1: at, x2: at, y1: TOP - 4, y2: HEIGHT - BOTTOM }),
        svg("title", {}, `${clock(move.time_ms)}: ${move.executors} executors moved by ${move.cause}`),
        svg("text", { class: "cause", x: at > this.width - 70 ? at - 4 : at + 4, y: TOP + 8, "text-anchor": at > this.width - 70 ? "end" : "start" }, move.cause)));
    }
    this.drawing.replaceChildren(...parts);
    const shown = this.series.map((s) => this.format(data[s.key].findLast((v) => v !== null) ?? null));
    shown.forEach((text, i) => { this.latest[i].textContent = text; });
    const last = this.series.map((s, i) => `${s.name} ${shown[i]}`);
    this.drawing.setAttribute("aria-label", `${this.title}: ${last.join(", ")}; ${moves.length} moves`);
  }

  #point(event) {
    const times = this.data?.time_ms || [];
    if (!times.length) return;
    const box = this.drawing.getBoundingClientRect();
    const x = event.clientX - box.x;
    let best = 0;
    times.forEach((t, i) => { if (Math.abs(this.x(t) - x) < Math.abs(this.x(times[best]) - x)) best = i; });
    this.cursor?.remove();
    const at = this.x(times[best]);
    this.cursor = svg("line", { class: "cursor", x1: at, x2: at, y1: TOP - 4, y2: HEIGHT - BOTTOM });
    this.drawing.append(this.cursor);
    const words = this.series.map((s) => `${s.name} ${this.format(this.data[s.key][best])}`);
    this.tip.textContent = `${clock(times[best])} · ${words.join(" · ")}`;
    this.tip.hidden = false;
    const left = Math.min(at + 10, this.width - this.tip.offsetWidth - 4);
    this.tip.style.left = `${Math.max(0, left)}px`;
  }
}

/** The next of 1, 1.5, 2, 3, 5, 7.5 times a power of ten: scales that stand still and can be read. */
function round(value) {
  if (!(value > 0)) return 0;
  const power = 10 ** Math.floor(Math.log10(value));
  return power * ([1, 1.5, 2, 3, 5, 7.5, 10].find((step) => step * power >= value) ?? 10);
}

/** A path with gaps at nulls; closed down to ``base`` for an area. */
function path(times, values, x, y, base) {
  let out = "";
  let run = [];
  const flush = () => {
    if (!run.length) return;
    const points = run.map(([t, v]) => `${x(t).toFixed(1)} ${y(v).toFixed(1)}`);
    if (base === null) out += `M${points.join("L")}${points.length === 1 ? `h1` : ""}`;
    else out += `M${x(run[0][0]).toFixed(1)} ${base}L${points.join("L")}L${x(run.at(-1)[0]).toFixed(1)} ${base}Z`;
    run = [];
  };
  values.forEach((v, i) => { if (v === null) flush(); else run.push([times[i], v]); });
  flush();
  return out;
}
