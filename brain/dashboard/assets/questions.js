// The panels that ask the brain something: explain, dry run, what if.

import * as api from "./api.js";
import { candidates, moves, scores } from "./decisions.js";
import { bytes, count, el, number, table } from "./format.js";

function busy(root, work) {
  const button = root.querySelector("button.primary");
  if (button) button.disabled = true;
  return work().finally(() => { if (button) button.disabled = false; });
}

// ---------------------------------------------------------------- explain

export async function showExplanation(root, topology, executor) {
  root.setAttribute("aria-busy", "true");
  try {
    const told = await api.explain(topology.id, executor);
    root.replaceChildren(...(executor ? ofExecutor(told) : ofTopology(told)), why(told));
  } catch (error) {
    root.replaceChildren(el("p", { class: "error" }, error.message));
  } finally {
    root.removeAttribute("aria-busy");
  }
}

function why(told) {
  const last = told.last_decision;
  return el("div", {}, el("h3", {}, "Why nothing moves just now"),
    el("p", {}, told.waiting ? `${told.waiting}.` : "A computation is due."),
    last ? el("p", { class: "note" }, `Last decision (${last.algorithm}): ${last.outcome}, ${last.reason}`) : null);
}

function ofTopology(told) {
  const single = told.single_moves.map((m) => [`${m.component} ${m.executor}`, told.hosts[m.to] ?? m.to, number(bytes(-m.change)), m.blocked_by[0] ?? "allowed"]);
  return [el("p", { class: "note" }, "Choose an executor in the picture to see why it is where it is."),
    ...told.violations.map((v) => el("p", { class: "error" }, v)),
    el("h3", {}, "Heaviest traffic between nodes"),
    table(["from", "to", el("th", { class: "number" }, "cost")], told.heaviest_crossings.map((c) => [`${c.from_component} ${c.from}`, `${c.to_component} ${c.to}`, number(bytes(c.cost), "inter")])),
    el("h3", {}, "Single moves that would help"),
    single.length ? table(["executor", "to", el("th", { class: "number" }, "saves"), ""], single) : el("p", {}, "None: no executor would be cheaper elsewhere by itself.")];
}

function ofExecutor(told) {
  return told.executors.flatMap((e) => [
    el("h3", {}, `${e.component} ${e.executor}`),
    el("p", {}, e.slot ? `runs on ${e.host ?? e.node}, port ${e.slot.slice(e.slot.lastIndexOf(":") + 1)}` : "is not placed"),
    el("p", { class: "verdict" }, e.verdict),
    el("h3", {}, "Talks to"),
    table(["executor", "where", el("th", { class: "number" }, "tuples/s"), el("th", { class: "number" }, "cost")],
      e.partners.slice(0, 30).map((p) => [`${p.component} ${p.executor}`, p.relation, number(count(p.tuples_in + p.tuples_out)), number(bytes(p.cost), p.relation === "other node" ? "inter" : "")])),
    el("h3", {}, "What each node would cost"),
    table(["node", el("th", { class: "number" }, "between nodes"), "what forbids it"],
      e.alternatives.map((a) => el("tr", { class: a.here ? "here" : "" }, el("td", {}, a.host ?? a.node), number(bytes(a.inter_node)),
        el("td", {}, a.here ? "runs here" : a.blocked_by[0] ?? "nothing"))))]);
}

// ---------------------------------------------------------------- dry run and apply

function field(label, input) {
  return el("label", {}, label, input);
}

function algorithms() {
  return el("select", { name: "algorithm" }, el("option", { value: "" }, "as configured"));
}

/** Fills in what the brain has, when it has told; a choice that was made stays. */
export function offerAlgorithms(names) {
  for (const select of document.querySelectorAll("select[name=algorithm]")) {
    const chosen = select.value;
    select.replaceChildren(select.firstChild, ...names.map((name) => el("option", { value: name }, name)));
    select.value = chosen;
  }
}

function values(form) {
  const found = {};
  for (const [name, value] of new FormData(form)) if (value !== "") found[name] = value;
  return found;
}

/** onShow(answer) draws the planned placement beside what runs. */
export function planPanel(root, topologyOf, onShow, canApply) {
  const out = el("div", { "aria-live": "polite" });
  const form = el("form", {},
    field("Algorithm", algorithms()),
    field("θ, seconds", el("input", { name: "theta", type: "number", min: "0.01", max: "60", step: "any", placeholder: "as configured" })),
    field("Seed", el("input", { name: "seed", type: "number", min: "0", placeholder: "as configured" })),
    field("Most moves", el("input", { name: "max_moves", type: "number", min: "0", placeholder: "no limit" })),
    el("button", { class: "primary wide", type: "submit" }, "Compute a dry run"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const given = values(form);
    const ask = { topology: topologyOf().id };
    if (given.algorithm) ask.algorithm = given.algorithm;
    for (const name of ["theta", "seed", "max_moves"]) if (given[name]) ask[name] = Number(given[name]);
    out.replaceChildren(el("p", { class: "note" }, "computing…"));
    busy(form, () => api.post("plan", ask)).then((answer) => {
      onShow(answer);
      out.replaceChildren(...planned(answer, canApply));
    }, (error) => out.replaceChildren(el("p", { class: "error" }, error.message)));
  });
  root.replaceChildren(el("p", { class: "note" }, "Computes a placement from what is measured now, as the brain would. Nothing is moved."), form, out);
}

function planned(answer, canApply) {
  return [
    el("p", { class: "verdict" }, `The brain would ${answer.verdict.outcome === "move" ? "move" : "not move"}: ${answer.verdict.reason}`),
    scores(answer.before, answer.after, answer.gain_percent),
    el("p", { class: "note" }, `${answer.algorithm}, ${answer.seconds.toFixed(2)} s` + (answer.proven_optimal ? ", proven optimal" : "") +
      (answer.waiting ? `; by itself: ${answer.waiting}` : "")),
    ...candidates(answer.details), ...moves(answer),
    answer.digest ? apply(answer, canApply) : el("p", { class: "note" }, `Cannot be applied: ${answer.why_not_applicable}.`)];
}

function apply(answer, canApply) {
  const command = `stormbrain apply ${answer.topology_name} ${answer.digest.slice(0, 12)}`;
  if (!canApply()) return el("p", { class: "note" }, "To put exactly this plan in force: ", el("code", {}, command));
  const token = el("input", { type: "password", autocomplete: "off", required: true, "aria-label": "Token" });
  const told = el("p", { role: "status" });
  const form = el("form", {}, field("Token", token), el("button", { class: "primary wide", type: "submit" }, `Apply ${answer.digest.slice(0, 12)}`), told);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    busy(form, () => api.post("apply", { topology: answer.topology_id, digest: answer.digest }, token.value)).then(
      (done) => { told.className = ""; told.textContent = `Plan ${done.epoch} is written; Nimbus takes it in its next round.`; },
      (error) => { told.className = "error"; told.textContent = error.message; });
  });
  return el("div", {}, el("h3", {}, "Put it in force"), form);
}

// ---------------------------------------------------------------- what if

export function whatifPanel(root, topologyOf, nodesOf, onShow) {
  const out = el("div", { "aria-live": "polite" });
  const remove = el("select", { name: "remove" });
  const fill = () => {
    const chosen = remove.value;
    remove.replaceChildren(el("option", { value: "" }, "none"), ...nodesOf().map((n) => el("option", { value: n.id }, n.host)));
    remove.value = chosen;
  };
  remove.addEventListener("focus", fill);
  fill();
  const form = el("form", {},
    field("Nodes more", el("input", { name: "add_nodes", type: "number", min: "0", max: "100", value: "0" })),
    field("Without node", remove),
    field("Rates ×", el("input", { name: "rate", type: "number", min: "0.01", step: "any", value: "1" })),
    field("Algorithm", algorithms()),
    el("button", { class: "primary wide", type: "submit" }, "What would be best then?"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const given = values(form);
    const ask = { topology: topologyOf().id, add_nodes: Number(given.add_nodes || 0), rate: Number(given.rate || 1), remove: given.remove ? [given.remove] : [] };
    if (given.algorithm) ask.algorithm = given.algorithm;
    out.replaceChildren(el("p", { class: "note" }, "computing…"));
    busy(form, () => api.post("whatif", ask)).then((answer) => {
      onShow(answer);
      out.replaceChildren(...supposed(answer));
    }, (error) => out.replaceChildren(el("p", { class: "error" }, error.message)));
  });
  root.replaceChildren(el("p", { class: "note" }, "Computed on a changed copy of the cluster; never applied."), form, out);
  return fill;
}

function supposed(answer) {
  const load = answer.nodes.map((n) => [n.host ?? n.id, number(count(n.cpu)), number(n.cpu_limit === null ? "–" : count(n.cpu_limit))]);
  return [
    el("p", { class: "verdict" }, `${answer.change}: ${answer.status === "ok" ? "a placement exists" : `${answer.status}: ${answer.reasons.join("; ")}`}`),
    scores(answer.today, answer.after, answer.today.inter_node ? 100 * (1 - answer.after.inter_node / answer.today.inter_node) : null),
    answer.without_a_home ? el("p", { class: "note" }, `${answer.without_a_home} executors would lose their node.`) : null,
    el("h3", {}, "CPU points planned"), table(["node", el("th", { class: "number" }, "load"), el("th", { class: "number" }, "limit")], load),
    ...moves(answer)].filter(Boolean);
}
