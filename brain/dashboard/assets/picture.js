// Nodes → workers → executors as elements (so that they can be read, focused and clicked), and the
// edges between them on one canvas beneath the executors (so that thousands stay cheap).

import { bytes, count, el } from "./format.js";

const PALETTE = ["#4464d6", "#0f8a6d", "#8e44ad", "#b3531f", "#1681a8", "#a8326e", "#5c7a16",
  "#6a5acd", "#94631a", "#3d7068"];
const SYSTEM = "#6f7a94";
const DENSE_FROM = 90;
const GLIDE_MS = 700;

export function colours(executors) {
  const found = new Map();
  for (const { component: name } of systemLast(executors)) {
    if (name.startsWith("__")) found.set(name, SYSTEM);
    else if (!found.has(name)) {
      const own = [...found.keys()].filter((c) => !c.startsWith("__")).length;
      found.set(name, PALETTE[own % PALETTE.length]);
    }
  }
  return found;
}

const systemLast = (executors) => [...executors].sort((a, b) => a.component.startsWith("__") - b.component.startsWith("__"));

const slotKey = (slot) => (slot ? `${slot[0]}:${slot[1]}` : "");

export class Picture {
  /** onSelect(executor id) is called on a click. */
  constructor(root, onSelect) {
    this.root = root;
    this.onSelect = onSelect;
    this.canvas = el("canvas", { "aria-hidden": "true" });
    this.chips = new Map();
    this.key = "";
    this.model = null;
    this.hovered = null;
    root.setAttribute("role", "group");
    root.setAttribute("aria-label", "Nodes, workers and executors");
    new ResizeObserver(() => { this.centres = null; this.draw(); }).observe(root);
    root.addEventListener("keydown", (event) => this.#walk(event));
  }

  /**
   * model: nodes, executors, edges (source, target, weight, system arrays), colours, others (slot →
   * [name, executors]), moved (set of ids), restarts (set of slots), widest (weight of the widest
   * edge, so that two pictures share a scale), chosen, show {onlyInter, system}.
   */
  update(model) {
    this.model = model;
    const key = JSON.stringify([model.nodes.map((n) => [n.id, n.ports, n.blacklisted]),
      model.executors.map((e) => [e.id, e.slot]), [...model.others], [...model.moved]]);
    if (key !== this.key) {
      this.key = key;
      this.#rebuild();
    }
    this.#loads();
    for (const [id, chip] of this.chips) chip.classList.toggle("chosen", id === model.chosen);
    this.centres = null;
    this.draw();
  }

  clear(message) {
    this.model = null;
    this.key = "";
    this.chips.clear();
    this.root.replaceChildren(el("p", { class: "empty" }, message));
  }

  #rebuild() {
    const before = new Map([...this.chips].map(([id, chip]) => [id, chip.getBoundingClientRect()]));
    const focused = document.activeElement?.dataset?.executor;
    const { nodes, executors, others, restarts } = this.model;
    this.chips.clear();
    this.root.classList.toggle("dense", executors.length > DENSE_FROM);
    const bySlot = Map.groupBy ? Map.groupBy(executors, (e) => slotKey(e.slot)) : group(executors);
    const cards = nodes.map((node) => this.#node(node, bySlot, others, restarts));
    const homeless = bySlot.get("") || [];
    if (homeless.length) {
      cards.push(el("article", { class: "node gone" }, el("h3", {}, el("b", {}, "Not assigned")),
        ...this.#rows(homeless)));
    }
    if (!cards.length) cards.push(el("p", { class: "empty" }, "No supervisor is known yet."));
    this.root.replaceChildren(...cards, this.canvas);
    const first = this.chips.values().next().value;
    if (first) first.tabIndex = 0;
    if (focused) this.chips.get(focused)?.focus();
    this.#glide(before);
  }

  #node(node, bySlot, others, restarts) {
    const mine = (port) => bySlot.get(`${node.id}:${port}`) || [];
    const used = node.ports.filter((p) => mine(p).length || others.has(`${node.id}:${p}`));
    const free = node.ports.length - used.length;
    const workers = used.map((port) => {
      const slot = `${node.id}:${port}`;
      if (mine(port).length) {
        return el("div", { class: `worker${restarts.has(slot) ? " restart" : ""}`, "data-slot": slot },
          el("p", {}, `worker ${port}${restarts.has(slot) ? " · restarts" : ""}`),
          ...this.#rows(mine(port)));
      }
      const [name, executors] = others.get(slot);
      return el("div", { class: "worker other" }, el("p", {}, `${port} · ${name}, ${executors} executors`));
    });
    const meter = el("i");
    const words = el("span");
    const bar = el("div", { class: "load", "data-node": node.id }, meter);
    const host = node.host || node.id;
    return el("article", { class: `node${node.blacklisted ? " gone" : ""}`, "data-node": node.id, "aria-label": `node ${host}` },
      el("h3", { title: node.id }, el("b", {}, host), words), bar, ...workers,
      free ? el("p", { class: "free" }, `${free} free slot${free > 1 ? "s" : ""}${node.blacklisted ? ", blacklisted" : ""}`) : null);
  }

  /** One row a component, in the order of the tasks: edges then have room between the rows. */
  #rows(executors) {
    const rows = new Map();
    for (const e of systemLast(executors)) rows.set(e.component, [...(rows.get(e.component) || []), this.#chip(e)]);
    return [...rows.values()].map((chips) => el("div", { class: "chips" }, ...chips));
  }

  #chip(executor) {
    const [start, end] = executor.id.split("-");
    const where = executor.slot ? `on ${executor.slot[0]} port ${executor.slot[1]}` : "not assigned";
    const text = start === end ? start : `${start}–${end}`;
    const moved = this.model.moved.has(executor.id);
    const chip = el("button", {
      type: "button", class: `chip${moved ? " moved" : ""}`, tabindex: "-1", "data-executor": executor.id,
      title: `${executor.component} ${executor.id}, ${Math.round(executor.cpu || 0)} CPU points`,
      "aria-label": `${executor.component}, executor ${executor.id}, ${where}${moved ? ", moves" : ""}`,
      onclick: () => this.onSelect(executor.id),
      onmouseenter: () => { this.hovered = executor.id; this.draw(); },
      onmouseleave: () => { this.hovered = null; this.draw(); },
      onfocus: () => { this.hovered = executor.id; this.draw(); },
      onblur: () => { this.hovered = null; this.draw(); },
    }, text);
    chip.style.setProperty("--c", this.model.colours.get(executor.component) || SYSTEM);
    this.chips.set(executor.id, chip);
    return chip;
  }

  #loads() {
    for (const node of this.model.nodes) {
      const card = this.root.querySelector(`article[data-node="${CSS.escape(node.id)}"]`);
      if (!card) continue;
      const share = node.cpu_capacity ? node.cpu / node.cpu_capacity : 0;
      const bar = card.querySelector(".load");
      bar.firstChild.style.width = `${Math.min(100, 100 * share)}%`;
      bar.classList.toggle("high", share > 0.75 && share <= 1);
      bar.classList.toggle("over", share > 1);
      card.querySelector("h3 span").textContent = node.cpu_capacity
        ? `${Math.round(node.cpu)} / ${Math.round(node.cpu_capacity)} CPU` : `${Math.round(node.cpu)} CPU`;
    }
  }

  /** Executors glide to their new places after a move. */
  #glide(before) {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches || !before.size) return;
    for (const [id, chip] of this.chips) {
      const old = before.get(id);
      const now = chip.getBoundingClientRect();
      if (!old || (old.x === now.x && old.y === now.y)) continue;
      chip.animate([{ transform: `translate(${old.x - now.x}px, ${old.y - now.y}px)` }, { transform: "none" }],
        { duration: GLIDE_MS, easing: "ease-in-out" });
    }
    const until = performance.now() + GLIDE_MS + 50;
    const follow = (time) => { this.centres = null; this.#paint(); if (time < until) requestAnimationFrame(follow); };
    requestAnimationFrame(follow);
  }

  /** Once a frame at the most, however often it is asked for. */
  draw() {
    if (this.asked) return;
    this.asked = requestAnimationFrame(() => { this.asked = null; this.#paint(); });
  }

  /** Where the executors are: asking the browser costs a layout, so it is asked once a picture. */
  #measure(box) {
    this.centres ??= this.model.executors.map((e) => {
      const r = this.chips.get(e.id)?.getBoundingClientRect();
      return r ? [r.x - box.x + r.width / 2, r.y - box.y + r.height / 2] : null;
    });
    return this.centres;
  }

  #paint() {
    const model = this.model;
    const box = this.root.getBoundingClientRect();
    if (!model || !box.width) return;
    const scale = devicePixelRatio || 1;
    if (this.canvas.width !== Math.round(box.width * scale) || this.canvas.height !== Math.round(box.height * scale)) {
      this.canvas.width = Math.round(box.width * scale);
      this.canvas.height = Math.round(box.height * scale);
    }
    const pen = this.canvas.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, box.width, box.height);
    const centre = this.#measure(box);
    const style = getComputedStyle(document.documentElement);
    const inter = style.getPropertyValue("--inter").trim();
    const intra = style.getPropertyValue("--intra").trim();
    const focus = this.hovered || model.chosen;
    const near = new Set();
    const many = model.edges.source.length;
    const thick = many > 400 ? 2.4 : many > 100 ? 3.6 : 6;
    const faint = many > 400 ? 0.35 : many > 100 ? 0.55 : 0.72;
    pen.lineCap = "round";
    for (let i = model.edges.source.length - 1; i >= 0; i -= 1) {  // the heaviest come last, on top
      const a = model.edges.source[i];
      const b = model.edges.target[i];
      const crosses = model.executors[a].slot?.[0] !== model.executors[b].slot?.[0];
      const system = model.edges.system[i];
      if (!centre[a] || !centre[b] || (model.show.onlyInter && !crosses) || (system && !model.show.system)) continue;
      const touched = focus && (model.executors[a].id === focus || model.executors[b].id === focus);
      if (touched) { near.add(model.executors[a].id); near.add(model.executors[b].id); }
      const width = 0.6 + thick * Math.sqrt(model.edges.weight[i] / model.widest);
      pen.lineWidth = touched ? width + 0.8 : width;
      pen.strokeStyle = crosses ? inter : intra;
      pen.globalAlpha = focus ? (touched ? 0.95 : 0.07) : crosses ? faint : 0.7 * faint;
      pen.setLineDash(system ? [2, 5] : []);
      const [x1, y1] = centre[a];
      const [x2, y2] = centre[b];
      pen.beginPath();
      pen.moveTo(x1, y1);
      pen.quadraticCurveTo((x1 + x2) / 2 - 0.14 * (y2 - y1), (y1 + y2) / 2 + 0.14 * (x2 - x1), x2, y2);
      pen.stroke();
    }
    for (const [id, chip] of this.chips) chip.classList.toggle("dim", Boolean(this.hovered) && !near.has(id) && id !== focus);
  }

  #walk(event) {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const chips = [...this.chips.values()];
    const at = chips.indexOf(document.activeElement);
    if (!step || at < 0) return;
    event.preventDefault();
    chips[at].tabIndex = -1;
    const next = chips[(at + step + chips.length) % chips.length];
    next.tabIndex = 0;
    next.focus();
  }
}

function group(executors) {
  const found = new Map();
  for (const e of executors) {
    const key = slotKey(e.slot);
    if (!found.has(key)) found.set(key, []);
    found.get(key).push(e);
  }
  return found;
}

export function legend(root, palette, unit) {
  const items = [...palette].map(([name, colour]) => {
    const mark = el("i");
    mark.style.background = colour;
    return el("span", {}, mark, name);
  });
  const stroke = (variable, words) => {
    const mark = el("i", { class: "stroke" });
    mark.style.background = `var(${variable})`;
    return el("span", {}, mark, words);
  };
  root.replaceChildren(...items, stroke("--inter", "between nodes"), stroke("--intra", `within a node (width: ${unit})`));
}

export const describe = (model) =>
  `${model.executors.length} executors, ${count(model.edges.source.length)} edges` +
  (model.leftOut ? `, ${count(model.leftOut)} thinner ones not drawn` : "") +
  (model.flow ? `; ${bytes(model.flow.inter_node_bytes)} of ${bytes(model.flow.bytes)} cross nodes` : "");
