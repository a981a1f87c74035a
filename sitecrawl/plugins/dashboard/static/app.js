// The page of one crawl, or of the workers of a cluster: each worker is an entry, the figures are those of all together.

import { askPause, askResume, askSeeds, askStop } from "./actions.js";
import { Charts } from "./charts.js";
import { byId, el, say, shown } from "./dom.js";
import { bytes, count, decimal, duration, rate, seconds, time } from "./format.js";
import { Fetches, Why } from "./looks.js";
import { Tabs } from "./tables.js";
import { Changes, askTerms } from "./terms.js";

const RECENT = 600; // samples that are drawn one by one
const WHOLE = 3600; // points of the whole crawl
const WORDS = { running: "running", paused: "paused", stopping: "stopping", ended: "ended", lost: "connection lost", connecting: "connecting" };
const GREATEST = new Set(["at", "seconds", "p50", "p95", "checkpoint_age", "reserve"]); // of workers: others add up

let workers = [];
let state = "connecting";
let crawl = null; // a cluster's counts of URLs: all workers' over all runs, those of lost ones, too
let series = null; // what is drawn: `recent`, and the `whole` history, of a cluster only of pages and URLs
let before = {}; // totals of earlier runs, which are in the history and not in the samples

/** The figures of all workers together. */
function together() {
  const joined = structuredClone(workers[0].figures);
  const add = (into, from) => {
    for (const [name, value] of Object.entries(from)) {
      if (typeof value === "object") add((into[name] ??= {}), value);
      else into[name] = GREATEST.has(name) ? Math.max(into[name] ?? 0, value) : (into[name] ?? 0) + value;
    }
  };
  workers.slice(1).forEach((worker) => add(joined, worker.figures));
  return { ...joined, ...crawl };
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

function showState(next, { ending = "", last = "", lacking = null } = {}) {
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
  const words = {
    ended: `The crawl ${shown(ending)}. These are its last figures.`,
    lost: "The crawl cannot be reached: it ended, or it hangs. These are the last figures that came.",
  }[next] ?? (live && lacking
    ? `Since ${time(lacking.since)} the crawl pauses by itself: ${shown(lacking.why)}. It goes on as soon as it can.`
    : live ? shown(last) : "");
  const notice = byId("notice");
  notice.dataset.kind = next === "lost" || (live && lacking) ? "wrong" : "told";
  notice.hidden = !words;
  notice.textContent = words;
}

const charts = new Charts();
let tabs = null;

function begin(overview) {
  tabs ??= new Tabs(Boolean(overview.crawl), [new Fetches(), new Why(), new Changes()]);
  byId("note").textContent = shown(overview.note ?? "");
  byId("note").hidden = !overview.note;
  const [first] = overview.workers;
  byId("spider").textContent = shown(first.spider);
  if (!overview.crawl || !series) series = { recent: first.recent ?? { t: [] }, whole: first.history ?? { t: [] } };
  before = first.totals_before ?? {};
  workers = [];
  take(overview);
}

/** Workers of a cluster come and go; of the first one, what does not change every second was told at the beginning. */
function take(sample) {
  crawl = sample.crawl ?? null;
  workers = sample.workers.map((worker, n) => (n === 0 ? { ...workers[0], ...worker } : worker));
  grow();
  show();
}

/** Add a sample to what is drawn, as far as it is a new one. */
function grow() {
  const f = together();
  const at = workers[0].figures.at; // the clocks of others are their own
  const of = (digit) => Object.entries(f.statuses).reduce((all, [status, n]) => all + (status[0] === digit ? n : 0), 0);
  const point = { ...f, t: at, ok: of("2"), redirects: of("3"), refused: of("4"), broken: of("5") };
  for (const [name, value] of Object.entries(before)) point[name] += value;
  const { recent, whole } = series;
  const step = whole.t.length > 1 ? whole.t.at(-1) - whole.t.at(-2) : 1;
  if (at > (recent.t.at(-1) ?? 0)) add(recent, point, RECENT);
  if (at - (whole.t.at(-1) ?? 0) >= Math.max(1, step) * 0.95) add(whole, point, WHOLE);
}

function add(kept, point, most) {
  for (const name of Object.keys(kept.t.length ? kept : point)) {
    const values = (kept[name] ??= []);
    values.push(typeof point[name] === "number" ? point[name] : null);
    if (values.length > most) values.shift();
  }
}

function show() {
  const [first] = workers;
  const f = together();
  showTiles(f);
  const parts = [
    crawl ? `${workers.length} ${workers.length === 1 ? "worker" : "workers"}` : null, first.directory, `order ${first.order}`,
    first.resumed ? "resumed" : null, duration(f.seconds),
  ];
  byId("where").textContent = shown(parts.filter(Boolean).join("  ·  "));
  charts.show(series);
  tabs.sample(f, workers);
  if (state !== "ended") showState(first.state, first);
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
