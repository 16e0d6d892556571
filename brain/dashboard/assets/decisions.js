// The list of decisions: what was chosen, against which candidates, and why.

import { bytes, clock, count, el, number, percent, table } from "./format.js";

const opened = new Set();

export function showDecisions(root, topology, nodes) {
  const hosts = Object.fromEntries(nodes.map((n) => [n.id, n.host || n.id]));
  const items = [...(topology.decisions || [])].reverse().map((d) => entry(d, topology.flow?.bytes ? bytes : perSecond, hosts));
  const waiting = topology.waiting ? el("p", { class: "note" }, `Now: ${topology.waiting}.`) : null;
  const lost = losses(topology.losses);
  const errors = (topology.errors || []).map((e) => el("p", { class: "error" }, e));
  const list = items.length ? el("ol", { class: "decisions" }, ...items)
    : el("p", { class: "note" }, "No decision yet.");
  root.replaceChildren(...[waiting, lost, ...errors, list].filter(Boolean));
}

/** What the workers say they lost; null if nothing. */
function losses(lost) {
  const words = [[lost?.reports, "windows did not reach a brain"], [lost?.lines, "lines were not written to the metric log"],
    [lost?.edges, "edges found no room (brain.scheduler.max.edges)"]].filter(([n]) => n).map(([n, told]) => `${count(n)} ${told}`);
  const when = lost?.last_ms ? `, last at ${clock(lost.last_ms)}` : "";
  return words.length ? el("p", { class: "error losses" }, `Lost: ${words.join(", ")}${when}. \`stormbrain doctor\` says what to do.`) : null;
}

const perSecond = (tuples) => `${count(tuples)} tuples/s`;

function entry(d, cost, hosts) {
  const more = el("details", { ontoggle: (event) => opened[event.target.open ? "add" : "delete"](d.id) },
    el("summary", {}, "Candidates, moves and numbers"), ...numbers(d, cost), ...candidates(d.details, cost), ...moves(d, hosts));
  more.open = opened.has(d.id);
  return el("li", {},
    el("div", { class: "line" }, el("span", { class: `badge ${d.outcome}` }, d.outcome), el("time", {}, clock(d.time_ms)),
      el("span", {}, `${d.algorithm}, ${d.trigger?.kind ?? ""}`), el("span", {}, d.mode === "auto" ? "" : d.mode), gain(d)),
    el("p", {}, d.reason), more);
}

/** What a move saves, at a glance; a stay has its reason instead. */
function gain(d) {
  if (d.outcome !== "move" || !(d.gain_percent > 0)) return null;
  return el("span", { class: "gain", title: "traffic between nodes, predicted" }, `−${percent(d.gain_percent)}`);
}

function numbers(d, cost) {
  if (!d.before || !d.after) return [];
  const row = (name, key, form) => [name, number(form(d.before[key])), number(form(d.after[key]))];
  return [table(["", el("th", { class: "number" }, "before"), el("th", { class: "number" }, "planned")], [
    row("between nodes", "inter_node", cost), row("between workers", "inter_worker", cost),
    row("imbalance", "imbalance", (v) => v.toFixed(2)),
  ]), el("p", { class: "note" }, `${d.trigger?.detail ?? ""}; ${d.moved ?? 0} executors moved, ` +
    `${d.restarts?.length ?? 0} workers restarted, computed in ${Number(d.seconds || 0).toFixed(2)} s`)];
}

const CANDIDATES = 12;

/** Algorithms that compare others (auto) list them in details.candidates and name the winner. */
export function candidates(details, cost = bytes) {
  const list = Array.isArray(details?.candidates) ? details.candidates : [];
  if (!list.length) return [];
  const order = (c) => c.failed ? Infinity : c.cost ?? c.inter_node ?? Infinity;
  const sorted = [...list].sort((a, b) => order(a) - order(b));
  const rows = sorted.slice(0, CANDIDATES).map((c) => el("tr", { class: c.candidate === details.winner ? "here" : "" },
    el("td", {}, String(c.candidate ?? "?")), number(c.inter_node === undefined ? "–" : cost(c.inter_node)), number(c.moved_executors ?? ""),
    el("td", {}, c.failed ?? (c.status === "ok" ? (c.candidate === details.winner ? "chosen" : "") : c.status ?? ""))));
  const left = list.length - rows.length;
  return [el("h3", {}, "Candidates"),
    table(["candidate", el("th", { class: "number" }, "between nodes"), el("th", { class: "number" }, "moves"), ""], rows),
    left > 0 ? el("p", { class: "note" }, `and ${left} that were worse`) : null].filter(Boolean);
}

/** host:port of a slot that the brain names by its supervisor's id. */
function place(slot, hosts) {
  if (!slot) return "–";
  const at = slot.lastIndexOf(":");
  return `${hosts[slot.slice(0, at)] ?? slot.slice(0, at)}${slot.slice(at)}`;
}

export function moves(d, hosts = d.hosts ?? {}) {
  if (!d.moves?.length) return [];
  const left = (d.moved ?? d.moves.length) - Math.min(d.moves.length, 40);
  return [el("h3", {}, "Moves"), table(["executor", "from", "to"],
    d.moves.slice(0, 40).map((m) => [`${m.component} ${m.executor}`, place(m.from_slot, hosts), place(m.to_slot, hosts)])),
  left > 0 ? el("p", { class: "note" }, `and ${left} more`) : null].filter(Boolean);
}

export function scores(before, after, gain) {
  return table(["", el("th", { class: "number" }, "now"), el("th", { class: "number" }, "then")], [
    ["between nodes", number(bytes(before.inter_node), "inter"), number(`${bytes(after.inter_node)} (${gain === null ? "–" : `${gain > 0 ? "−" : "+"}${percent(Math.abs(gain))}`})`, "inter")],
    ["between workers", number(bytes(before.inter_worker)), number(bytes(after.inter_worker))],
    ["imbalance", number(before.imbalance.toFixed(2)), number(after.imbalance.toFixed(2))],
    ["executors that move", number(""), number(String(after.moved_executors))],
    ["workers that restart", number(""), number(String(after.restarted_workers))],
  ]);
}
