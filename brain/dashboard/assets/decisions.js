// The list of decisions: what was chosen, against which candidates, and why.

import { bytes, clock, count, el, number, percent, table } from "./format.js";

const opened = new Set();

export function showDecisions(root, topology) {
  const items = [...(topology.decisions || [])].reverse().map((d) => entry(d));
  const waiting = topology.waiting ? el("p", { class: "note" }, `Now: ${topology.waiting}.`) : null;
  const errors = (topology.errors || []).map((e) => el("p", { class: "error" }, e));
  const list = items.length ? el("ol", { class: "decisions" }, ...items)
    : el("p", { class: "note" }, "No decision yet.");
  root.replaceChildren(...[waiting, ...errors, list].filter(Boolean));
}

function entry(d) {
  const more = el("details", { ontoggle: (event) => opened[event.target.open ? "add" : "delete"](d.id) },
    el("summary", {}, "Candidates, moves and numbers"), ...numbers(d), ...candidates(d.details), ...moves(d));
  more.open = opened.has(d.id);
  return el("li", {},
    el("div", { class: "line" }, el("span", { class: `badge ${d.outcome}` }, d.outcome), el("time", {}, clock(d.time_ms)),
      el("span", {}, `${d.algorithm}, ${d.trigger?.kind ?? ""}`), el("span", {}, d.mode === "auto" ? "" : d.mode)),
    el("p", {}, d.reason), more);
}

function numbers(d) {
  if (!d.before || !d.after) return [];
  const row = (name, key, form) => [name, number(form(d.before[key])), number(form(d.after[key]))];
  return [table(["", el("th", { class: "number" }, "before"), el("th", { class: "number" }, "planned")], [
    row("between nodes, a second", "inter_node", count), row("between workers", "inter_worker", count),
    row("imbalance", "imbalance", (v) => v.toFixed(2)),
  ]), el("p", { class: "note" }, `${d.trigger?.detail ?? ""}; ${d.moved ?? 0} executors moved, ` +
    `${d.restarts?.length ?? 0} workers restarted, computed in ${Number(d.seconds || 0).toFixed(2)} s`)];
}

/** Algorithms that compare others name them in details.candidates, as a list or a map. */
export function candidates(details) {
  const given = details?.candidates;
  const list = Array.isArray(given) ? given
    : Object.entries(given || {}).map(([name, value]) => typeof value === "object" && value ? { algorithm: name, ...value } : { algorithm: name, inter_node: value });
  if (!list.length) return [];
  const cost = (c) => c.inter_node ?? c.score?.inter_node ?? c.cost ?? null;
  return [el("h3", {}, "Candidates"), table(["algorithm", el("th", { class: "number" }, "between nodes"), "note"],
    list.map((c) => [String(c.algorithm ?? c.name ?? "?"), number(count(cost(c))),
      String(c.reason ?? c.note ?? c.error ?? c.status ?? (c.chosen ? "chosen" : ""))]))];
}

export function moves(d) {
  if (!d.moves?.length) return [];
  const left = (d.moved ?? d.moves.length) - Math.min(d.moves.length, 40);
  return [el("h3", {}, "Moves"), table(["executor", "from", "to"],
    d.moves.slice(0, 40).map((m) => [`${m.component} ${m.executor}`, m.from_slot ?? "–", m.to_slot])),
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
