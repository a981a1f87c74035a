// The page of one crawl, or of the workers of a cluster: each worker is an entry, the figures are those of all together.

import { askPause, askResume, askSeeds, askStop } from "./actions.js";
import { Charts } from "./charts.js";
import { byId, el, say, shown } from "./dom.js";
import { bytes, count, decimal, duration, rate, seconds, time } from "./format.js";
import { Fetches, Queue, Why } from "./looks.js";
import { Tabs } from "./tables.js";
import { Changes, askTerms } from "./terms.js";

const RECENT = 600; // samples that are drawn one by one
const WORDS = { running: "running", paused: "paused", stopping: "stopping", ended: "ended", lost: "connection lost", connecting: "connecting" };

const WHOLE = 3600; // samples of a cluster that are kept, from when the page was opened

const workers = new Map();
let state = "connecting";
let crawl = null; // a cluster's counts of URLs: all workers' over all runs, those of lost ones, too
let drawn = null; // what is drawn of a cluster

/** The figures of all workers together: counts add up, times and shares are the greatest; URLs are the crawl's. */
function together() {
  const joined = addedUp([...workers.values()].map((worker) => worker.figures));
  return crawl ? { ...joined, ...crawl } : joined;
}

function addedUp(all) {
  if (all.length < 2) return all[0];
  const joined = structuredClone(all[0]);
  const greatest = new Set(["at", "seconds", "p50", "p95", "checkpoint_age", "reserve"]);
  const add = (into, from) => {
    for (const [name, value] of Object.entries(from)) {
      if (typeof value === "object") add((into[name] ??= {}), value);
      else into[name] = greatest.has(name) ? Math.max(into[name] ?? 0, value) : (into[name] ?? 0) + value;
    }
  };
  all.slice(1).forEach((figures) => add(joined, figures));
  return joined;
}

function tile(name, value, more, bad = false) {
  return el("div", { class: bad ? "tile bad" : "tile" }, el("dt", {}, name), el("dd", {}, value), el("dd", { class: "more", title: more }, more));
}

function showTiles(f) {
  byId("tiles").replaceChildren(
    tile("Fetched", count(f.fetched), `${rate(f.rate)} a second`),
    tile("Waiting", count(f.waiting), `${count(f.known)} known`),
    tile("In flight", count(f.in_flight), `${count(f.active)} of ${count(f.hosts)} ${f.hosts === 1 ? "host" : "hosts"}`),
    tile("Received", bytes(f.received), `${bytes(f.byte_rate)} a second`),
    tile("Download", seconds(f.p50), `95% in ${seconds(f.p95)}`),
    tile("Errors", count(f.errors), f.failed ? `${count(f.failed)} given up` : "none given up", f.errors > 0),
    tile("Held back", count(f.demoted), f.silent ? `${count(f.silent)} URLs of silent hosts` : "sections and hosts"),
    tile("Memory", bytes(f.memory), `${decimal(f.cpu)} cores in use`),
  );
}

function showState(next, ending = "", last = "", lacking = null) {
  const changed = next !== state;
  state = next;
  const pill = byId("state");
  pill.dataset.state = next;
  pill.textContent = WORDS[next];
  const live = next === "running" || next === "paused";
  for (const id of ["pause", "seed", "terms", "stop"]) byId(id).disabled = !live;
  byId("pause").textContent = next === "paused" ? "Resume" : "Pause";
  document.title = `${WORDS[next]} – ${byId("spider").textContent}`;
  if (changed && next !== "connecting") say(`The crawl is ${WORDS[next]}`);
  const notice = byId("notice");
  notice.dataset.kind = next === "lost" || (live && lacking) ? "wrong" : "told";
  notice.hidden = !(next === "ended" || next === "lost" || (live && (lacking || last)));
  if (live) notice.textContent = shown(last);
  if (live && lacking) notice.textContent = `Since ${time(lacking.since)} the crawl pauses by itself: ${shown(lacking.why)}. It goes on as soon as it can.`;
  if (next === "ended") notice.textContent = `The crawl ${shown(ending)}. These are its last figures.`;
  if (next === "lost") notice.textContent = "The crawl cannot be reached: it ended, or it hangs. These are the last figures that came.";
}

const charts = new Charts();
let tabs = null;

function begin(overview) {
  workers.clear();
  for (const worker of overview.workers) workers.set(worker.id, worker);
  const [first] = workers.values();
  crawl = overview.crawl ?? null;
  tabs ??= new Tabs(crawl !== null, [new Fetches(), new Queue(), new Why(), new Changes()]);
  byId("note").textContent = shown(overview.note ?? "");
  byId("note").hidden = !overview.note;
  byId("spider").textContent = shown(first.spider);
  if (crawl) growAll();
  show();
}

/** The workers of a cluster as they are now: some may be new, some gone. Their clocks are their own, so this one's counts. */
function takeAll(sample) {
  const [first] = workers.values();
  crawl = sample.crawl;
  workers.clear();
  for (const worker of sample.workers) workers.set(worker.id, worker.id === first.id ? { ...first, ...worker } : worker);
  growAll();
  show();
}

function growAll() {
  const f = { ...together(), at: [...workers.values()][0].figures.at };
  drawn ??= { recent: { t: [] }, history: { t: [] } };
  for (const [kept, most] of [[drawn.recent, RECENT], [drawn.history, WHOLE]]) {
    if (f.at <= (kept.t.at(-1) ?? 0)) continue;
    for (const [name, value] of Object.entries(pointOf(f))) {
      const values = (kept[name] ??= []);
      values.push(typeof value === "number" ? value : null);
      if (values.length > most) values.shift();
    }
  }
}

/** A sample as a point of what is drawn. */
function pointOf(f) {
  const of = (digit) => Object.entries(f.statuses).reduce((all, [status, n]) => all + (status[0] === digit ? n : 0), 0);
  return { ...f, t: f.at, ok: of("2"), redirects: of("3"), refused: of("4"), broken: of("5") };
}

function take(sample) {
  if (sample.crawl) {
    takeAll(sample);
    return;
  }
  for (const { id, state: now, figures, last } of sample.workers) {
    const worker = workers.get(id);
    if (!worker) continue;
    const isNew = figures.at > worker.figures.at;
    Object.assign(worker, { state: now, figures, last });
    if (isNew) grow(worker, figures);
  }
  show();
}

/** Add a sample to what is drawn. */
function grow(worker, f) {
  const point = pointOf(f);
  // Totals of earlier runs are in the history, and not in the samples.
  for (const [name, before] of Object.entries((worker.before ??= earlier(worker)))) point[name] += before;
  for (const [name, values] of Object.entries(worker.recent)) {
    values.push(point[name] ?? null);
    if (values.length > RECENT) values.shift();
  }
  const step = worker.history.t.length > 1 ? worker.history.t.at(-1) - worker.history.t.at(-2) : 1;
  if (f.at - (worker.history.t.at(-1) ?? 0) >= Math.max(1, step) * 0.95) {
    for (const [name, values] of Object.entries(worker.history)) values.push(point[name] ?? null);
  }
}

const earlier = (worker) => worker.totals_before ?? {};

/** What is drawn: the history of one process, or what all workers of a cluster together were since the page was opened. */
function series() {
  if (drawn) return { recent: drawn.recent, whole: drawn.history };
  const [worker] = workers.values();
  return { recent: worker.recent, whole: worker.history };
}

function show() {
  const [first] = workers.values();
  const f = together();
  showTiles(f);
  const parts = [
    crawl ? `${workers.size} ${workers.size === 1 ? "worker" : "workers"}` : null, first.directory, `order ${first.order}`,
    first.resumed ? "resumed" : null, duration(f.seconds),
  ];
  byId("where").textContent = shown(parts.filter(Boolean).join("  ·  "));
  charts.show(series());
  tabs.sample(f, [...workers.values()]);
  if (state !== "ended") showState(first.state === "ended" ? "ended" : first.state, first.ending, first.last, first.lacking);
}

byId("pause").addEventListener("click", () => (state === "paused" ? askResume() : askPause()));
byId("seed").addEventListener("click", askSeeds);
byId("terms").addEventListener("click", () => askTerms());
byId("stop").addEventListener("click", askStop);

const source = new EventSource("stream");
source.addEventListener("overview", (event) => begin(JSON.parse(event.data)));
source.addEventListener("sample", (event) => take(JSON.parse(event.data)));
source.addEventListener("ended", (event) => {
  source.close();
  begin(JSON.parse(event.data));
  tabs.freeze();
});
source.addEventListener("error", () => { if (state !== "ended") showState("lost"); });
