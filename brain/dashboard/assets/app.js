// State and polling: one picture a second from the brain, drawn where it changed.

import * as api from "./api.js";
import { Chart } from "./charts.js";
import { showDecisions } from "./decisions.js";
import { bytes, count, el, milliseconds, percent, seconds } from "./format.js";
import { colours, describe, legend, Picture } from "./picture.js";
import { offerAlgorithms, planPanel, showExplanation, whatifPanel } from "./questions.js";

const EVERY_MS = 1000;
const $ = (id) => document.getElementById(id);

const state = { picture: null, about: { can_apply: false }, wanted: null, chosen: null, then: null, tab: "decisions", version: null };

const now = new Picture($("now"), choose);
const then = new Picture($("then"), choose);
const charts = [
  new Chart($("chart-traffic"), "Traffic between executors", [
    { key: "inter_node_bytes", class: "inter", name: "between nodes", area: true },
    { key: "bytes", class: "total", name: "in all" }], bytes),
  new Chart($("chart-latency"), "Complete latency", [{ key: "latency_ms", class: "only", name: "mean" }], milliseconds),
  new Chart($("chart-throughput"), "Throughput", [
    { key: "acked", class: "only", name: "acked" }, { key: "tuples", class: "total", name: "all tuples" }], (v) => v === null ? "–" : `${count(v)}/s`),
];

// ---------------------------------------------------------------- what is shown

function topology() {
  const all = state.picture?.topologies || [];
  return all.find((t) => t.id === state.wanted) || all.find((t) => t.name === state.wanted) || all[0] || null;
}

function setState(name, words, banner) {
  document.body.dataset.state = name;
  if ($("state").textContent !== words) $("state").textContent = words;
  $("banner").hidden = !banner;
  if (banner && $("banner").textContent !== banner) $("banner").textContent = banner;
}

function judge(picture) {
  const { storm, brain } = picture;
  if (storm.state === "never") {
    setState("waiting", "waiting for Storm", `Nimbus has not asked this brain yet. Is storm.scheduler set and the plugin's jar in extlib-daemon/? \`stormbrain doctor\` tells.`);
  } else if (storm.state === "away") {
    setState("storm-away", "Storm is away", `Storm is away: Nimbus has not asked for ${seconds(storm.age_ms)}. What is shown is the last known state.`);
  } else setState("live", "live", "");
  const fact = (name, value) => el("div", {}, el("dt", {}, name), el("dd", {}, value));
  $("facts").replaceChildren(
    fact("brain", `${brain.id} ${brain.version}`), fact("term", String(brain.term)),
    fact("Nimbus", storm.seen_ms ? `${storm.nimbus || "?"}, ${seconds(storm.age_ms)} ago` : "never"),
    fact("Storm", storm.storm_version || "?"));
}

function show(picture) {
  state.picture = picture;
  judge(picture);
  const own = topology();
  tabsOfTopologies(picture.topologies, own);
  if (!own) {
    now.clear(picture.nodes.length ? `${picture.nodes.length} nodes, no topology runs.` : "No cluster is known yet.");
    $("tiles").replaceChildren();
    $("panel-decisions").replaceChildren(el("p", { class: "note" }, "No topology runs."));
    return;
  }
  tiles(own, picture);
  if (!own.timeline) return;  // details come with the next picture
  draw();
  for (const chart of charts) chart.update(own.timeline, own.moves);
  showDecisions($("panel-decisions"), own, picture.nodes);
}

function tabsOfTopologies(all, own) {
  const key = JSON.stringify([all.map((t) => t.id), own?.id]);
  const root = $("topologies");
  if (root.dataset.key === key) return;
  root.dataset.key = key;
  root.replaceChildren(...all.map((t) => el("button", {
    type: "button", "aria-current": String(t.id === own?.id), title: t.id,
    onclick: () => { state.wanted = t.id; state.chosen = null; closeThen(); location.hash = t.name; tick(); },
  }, t.name)));
}

function tiles(own, picture) {
  const flow = own.flow;
  const share = flow && flow.bytes ? (100 * flow.inter_node_bytes) / flow.bytes : null;
  const used = new Set(own.executors.filter((e) => e.slot).map((e) => e.slot.join(":")));
  const nodes = new Set(own.executors.filter((e) => e.slot).map((e) => e.slot[0]));
  const meter = el("i");
  meter.style.width = `${share ?? 0}%`;
  const tile = (id, title, value, words, extra) => el("article", { class: "tile", id }, el("h2", {}, title),
    el("div", { class: `value${id === "tile-inter" ? " inter" : ""}` }, value), extra ?? null, el("p", {}, words));
  const plan = own.plan ? `plan ${own.plan.epoch} ${own.plan.state}` : "no plan";
  $("tiles").replaceChildren(
    tile("tile-inter", "Between nodes", flow ? bytes(flow.inter_node_bytes) : "–",
      flow ? `${percent(share)} of ${bytes(flow.bytes)}` : own.waiting || "not measured yet", el("div", { class: "meter" }, meter)),
    tile("tile-throughput", "Throughput", flow ? `${count(flow.acked || flow.tuples)}/s` : "–",
      flow ? (flow.acked ? `acked at the spouts; ${count(flow.tuples)} tuples/s in all` : "tuples between executors") : ""),
    tile("tile-latency", "Complete latency", flow ? milliseconds(flow.latency_ms) : "–", flow?.failed ? `${count(flow.failed)} failed/s` : "mean at the spouts"),
    tile("tile-placement", "Placement", `${own.executors.length} executors`, `${used.size} workers on ${nodes.size} of ${picture.nodes.length} nodes`),
    tile("tile-plan", `${own.mode}, ${own.algorithm}`, plan, own.waiting || "a computation is due"));
}

function model(own, picture) {
  const weight = own.edges.bytes.some((b) => b > 0) ? own.edges.bytes : own.edges.tuples;
  const others = new Map();
  for (const t of picture.topologies) {
    if (t.id === own.id) continue;
    for (const e of t.executors) {
      if (!e.slot) continue;
      const key = `${e.slot[0]}:${e.slot[1]}`;
      others.set(key, [t.name, (others.get(key)?.[1] || 0) + 1]);
    }
  }
  return {
    nodes: picture.nodes, executors: own.executors, edges: { ...own.edges, weight }, others, moved: new Set(), restarts: new Set(),
    colours: colours(own.executors), widest: Math.max(...weight, 1e-9), chosen: state.chosen,
    leftOut: own.edges.left_out, flow: own.flow, show: { onlyInter: $("only-inter").checked, system: $("with-system").checked },
  };
}

function draw() {
  const own = topology();
  if (!own?.edges) return;
  const base = model(own, state.picture);
  legend($("legend"), base.colours, own.edges.bytes.some((b) => b > 0) ? "bytes/s" : "tuples/s");
  $("picture-note").textContent = describe(base);
  if (state.then && state.then.topology_id !== own.id) closeThen();
  const planned = state.then;
  const moved = new Set(planned ? planned.moves.map((m) => m.executor) : []);
  now.update({ ...base, moved });
  if (!planned) return;
  const cpu = new Map(planned.nodes?.map((n) => [n.id, n.cpu]) || []);
  const executors = own.executors.map((e) => ({ ...e, slot: planned.placement[e.id] ?? null }));
  const known = new Map(state.picture.nodes.map((n) => [n.id, n]));
  const nodes = (planned.nodes || state.picture.nodes).map((n) => {
    const real = known.get(n.id);
    const here = executors.filter((e) => e.slot?.[0] === n.id).reduce((sum, e) => sum + e.cpu, 0);
    const left = own.executors.filter((e) => e.slot?.[0] === n.id).reduce((sum, e) => sum + e.cpu, 0);
    return { ...n, ports: n.ports || n.slots, cpu: cpu.get(n.id) ?? (real?.cpu || 0) - left + here,
      cpu_capacity: real?.cpu_capacity ?? n.cpu_limit ?? null, blacklisted: false };
  });
  then.update({ ...base, nodes, executors, moved, restarts: new Set(planned.restarts) });
}

function showThen(answer, words) {
  state.then = answer;
  $("then-figure").hidden = false;
  $("pictures").classList.add("two");
  $("then-caption").textContent = `${words}: ${bytes(answer.after.inter_node)} between nodes`;
  draw();
}

function closeThen() {
  state.then = null;
  $("then-figure").hidden = true;
  $("pictures").classList.remove("two");
}

function choose(executor) {
  state.chosen = state.chosen === executor ? null : executor;
  select("explain");
  explain();
  draw();
}

function explain() {
  const own = topology();
  if (own) showExplanation($("panel-explain"), own, state.chosen);
}

function select(name) {
  state.tab = name;
  for (const tab of $("tabs").children) {
    const on = tab.id === `tab-${name}`;
    tab.setAttribute("aria-selected", String(on));
    tab.tabIndex = on ? 0 : -1;
    $(tab.getAttribute("aria-controls")).hidden = !on;
  }
}

// ---------------------------------------------------------------- the loop

let timer = null;
let asking = false;

async function tick() {
  clearTimeout(timer);
  if (asking) return;
  asking = true;
  try {
    const picture = await api.picture(topology()?.id);
    if (state.version && state.version !== picture.brain.version) location.reload();
    state.version = picture.brain.version;
    if (!state.about.brain) {
      state.about = await api.about();
      offerAlgorithms(state.about.algorithms);
    }
    show(picture);
  } catch (error) {
    failed(error);
  } finally {
    asking = false;
    timer = setTimeout(tick, EVERY_MS);
  }
}

function failed(error) {
  if (error.answered && error.body?.field === "topology") {  // it was killed
    state.picture = state.wanted = state.chosen = null;
    closeThen();
  }
  else if (error.answered) setState("no-leader", "no leader", `${error.message}. Trying again.`);
  else {
    state.about = { can_apply: false };
    setState("brain-away", "brain away", "The brain does not answer. Storm goes on with the last plan; this page reconnects by itself.");
  }
}

$("tabs").addEventListener("click", (event) => {
  const name = event.target.id?.replace("tab-", "");
  if (!name || name === "tabs") return;
  select(name);
  if (name === "explain") explain();
  if (name === "whatif") refill();
});
$("tabs").addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  const tabs = [...$("tabs").children];
  const next = tabs[(tabs.indexOf(event.target) + step + tabs.length) % tabs.length];
  next.focus();
  next.click();
});
$("close-then").addEventListener("click", () => { closeThen(); draw(); });
$("only-inter").addEventListener("change", draw);
$("with-system").addEventListener("change", draw);
planPanel($("panel-plan"), topology, (answer) => showThen(answer, "Planned"), () => state.about.can_apply);
const refill = whatifPanel($("panel-whatif"), topology, () => state.picture?.nodes || [], (answer) => showThen(answer, answer.change));
state.wanted = decodeURIComponent(location.hash.slice(1)) || null;
tick();
