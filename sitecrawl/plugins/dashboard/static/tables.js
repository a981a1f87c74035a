// The tabs and their tables. Rows come from the crawl a page at a time, and only those that are looked at.

import { askBlock, askRelease } from "./actions.js";
import { byId, el, fill, link, shown } from "./dom.js";
import { bytes, count, decimal, duration, percent, rate, seconds, time } from "./format.js";

const REFRESH = 5000; // milliseconds
const SOON = 2500; // milliseconds after which another worker has done what it was told
const SHARE = 300; // a table that took a second to look over is not looked over for 300

export const mark = (kind) => el("span", { class: "mark", "data-kind": kind }, kind);
export const text = (value) => ({ node: el("span", {}, value), text: true });
export const number = (value) => ({ node: document.createTextNode(value) });

export function nothing(title, words) {
  return el("div", { class: "nothing" }, el("strong", {}, title), words);
}

/** `columns`: name, and the order it stands for; `rows`: lists of cells, of which the first is the row's name. */
export function table(caption, columns, rows, { sort, onSort } = {}) {
  const heads = columns.map(([name, order, isText], n) => {
    const attributes = { scope: "col", class: [isText && "text", n === 0 && "first"].filter(Boolean).join(" ") || null };
    if (!order) return el("th", attributes, name);
    attributes["aria-sort"] = order === sort ? "descending" : null;
    return el("th", attributes, el("button", { type: "button", "data-key": `sort-${order}`, onclick: () => onSort(order) }, name));
  });
  const body = rows.map((cells) => el("tr", {}, ...cells.map((cell, n) => {
    const tag = n === 0 ? "th" : "td";
    const kind = [cell.text && "text", cell.wide && "wide", n === 0 && "first"].filter(Boolean).join(" ");
    return el(tag, { class: kind || null, scope: n === 0 ? "row" : null }, cell.node);
  })));
  return el(
    "div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    el("table", {}, el("caption", { class: "hidden" }, caption), el("thead", {}, el("tr", {}, ...heads)), el("tbody", {}, ...body)),
  );
}

function unitActions(unit, after) {
  const act = (name, ask) => el("button", {
    type: "button", class: "small", "data-key": `${name} ${unit.host}${unit.shape ?? ""}`,
    "aria-label": `${name} ${shown(unit.host + (unit.shape ?? ""))}`,
    onclick: async () => {
      if (!await ask(unit)) return;
      after();
      setTimeout(after, SOON);
    },
  }, name);
  return { node: unit.demoted ? act("Set free", askRelease) : act("Block", askBlock), text: true };
}

/** A shape goes on where its host ends; the name of a rule does not. */
const nameOf = (unit) => shown(unit.host + (/^(\/|$)/.test(unit.shape) ? "" : " ") + unit.shape);

const opened = new Set(); // of the samples

/** URLs of what is held back: what was fetched of it last, and some of what waits. */
function samples(unit) {
  const fetched = (unit.fetched_urls ?? []).map((one) => el(
    "li", {}, link(one.url), " ", el("span", { class: "quiet" }, `fetched: ${one.status || "no answer"}, ${one.good ? "good" : "not good"}`),
  ));
  const waiting = (unit.waiting_urls ?? []).map((url) => el("li", {}, link(url), " ", el("span", { class: "quiet" }, "waits")));
  const all = [...fetched, ...waiting];
  if (!all.length) return null;
  const key = `samples ${unit.host}${unit.shape}`;
  const node = el("details", { class: "samples", open: opened.has(key) }, el("summary", { "data-key": key }, "URLs of it"), el("ul", {}, ...all));
  node.addEventListener("toggle", () => (node.open ? opened.add(key) : opened.delete(key)));
  return node;
}

/** What a table of many workers lacks, in words. */
function leftOut({ missing = [], cut = false }) {
  return [
    missing.length ? `Not in time for this table: ${missing.join(", ")}. What they have is left out.` : "",
    cut ? "A worker had more to say than there is room for: some rows are left out." : "",
  ];
}

/** What all tabs share: it loads while it is shown, and again now and then. */
export class Tab {
  constructor(id, title) {
    Object.assign(this, { id, title, timer: null, sequence: 0, data: null, wrong: "" });
  }

  open(panel) {
    this.panel = panel;
    this.content = el("div", { "aria-busy": "true" }, this.data ? null : el("p", { class: "quiet" }, "Loading …"));
    panel.replaceChildren(...this.tools(), this.content);
    if (this.data) this.render();
    this.load();
  }

  close() {
    clearTimeout(this.timer);
    this.sequence += 1;
    this.panel = null;
  }

  tools() { return []; }
  sample() {}
  address() { return this.id; }
  frozen = false;

  async load() {
    clearTimeout(this.timer);
    const turn = ++this.sequence;
    if (this.frozen || !this.panel) return;
    let wait = REFRESH;
    if (document.visibilityState === "visible") {
      try {
        const answer = await fetch(this.address());
        const data = await answer.json();
        if (turn !== this.sequence) return;
        this.wrong = answer.ok ? "" : data.error;
        if (answer.status !== 503) this.data = answer.ok ? data : null;
        wait = Math.max(REFRESH, (data.cost ?? 0) * 1000 * SHARE);
      } catch {
        if (turn !== this.sequence) return;
        this.wrong = "The crawl cannot be reached";
      }
      this.render();
    }
    this.timer = setTimeout(() => this.load(), wait);
  }

  render() {
    if (!this.panel) return;
    const nodes = this.data ? this.body(this.data) : [];
    const notices = [this.wrong, ...leftOut(this.data ?? {})].filter(Boolean);
    this.content.removeAttribute("aria-busy");
    fill(this.content, ...notices.map((words) => el("p", { class: "notice", "data-kind": "wrong" }, words)), ...nodes);
  }
}

/** A tab with search, order and pages. */
class Listing extends Tab {
  constructor(id, title, { fixed = {}, hint, size = 25, source = id } = {}) {
    super(id, title);
    Object.assign(this, { query: "", sort: "waiting", offset: 0, fixed, hint, size, source, total: null });
  }

  tools() {
    const input = el("input", {
      type: "search", placeholder: this.hint, "aria-label": this.hint, value: this.query, maxlength: "200", spellcheck: "false",
      oninput: () => {
        clearTimeout(this.typing);
        this.typing = setTimeout(() => { this.query = input.value; this.offset = 0; this.load(); }, 250);
      },
    });
    this.pager = el("div", { class: "end" });
    return [el("p", { class: "about" }, this.about()), el("div", { class: "tools" }, input, this.pager)];
  }

  address() {
    const fields = { q: this.query, sort: this.sort, offset: this.offset, limit: this.size, ...this.fixed };
    return `${this.source}?${new URLSearchParams(fields)}`;
  }

  order(name) {
    this.sort = name;
    this.offset = 0;
    this.load();
  }

  turn(by) {
    this.offset = Math.max(0, this.offset + by * this.size);
    this.load();
  }

  body(data) {
    const last = this.offset + data.rows.length;
    const step = (name, by, off) => el("button", { type: "button", class: "small", "data-key": name, disabled: off, onclick: () => this.turn(by) }, name);
    fill(
      this.pager,
      el("span", { class: "quiet" }, data.rows.length ? `${count(this.offset + 1)}–${count(last)} of ${count(data.total)}` : ""),
      ...(data.total > this.size ? [step("Back", -1, this.offset === 0), step("Next", 1, last >= data.total)] : []),
    );
    if (data.rows.length) return [this.list(data)];
    return [this.query ? nothing("Nothing is found", `No name has “${this.query}” in it.`) : this.none(data)];
  }
}

class Hosts extends Listing {
  about() { return "Hosts with URLs waiting. Any other host is found by its full name."; }
  none() { return nothing("No host has work", "Nothing waits to be fetched."); }

  list(data) {
    const columns = [
      ["Host", null, true], ["State", null, true], ["Next fetch", "next"], ["Waiting", "waiting"], ["Known", "known"],
      ["Fetched", "fetched"], ["Good", "good"], ["Failures", "failures"], ["Crawl-delay"], ["Address", null, true], ["", null, true],
    ];
    const rows = data.rows.map((host) => [
      { node: el("span", {}, el("div", { class: "name mono" }, host.host), host.reason ? el("span", { class: "reason" }, host.reason) : null, host.said_no ? el("span", { class: "reason" }, `said no: ${shown(host.said_no)}`) : null), text: true },
      { node: mark(host.vouched ? "set free" : host.state), text: true },
      number(host.state === "resting" || host.state === "failing" ? `in ${seconds(host.next)}` : "–"),
      number(count(host.waiting)), number(count(host.known)), number(count(host.fetched)), number(count(host.good)),
      number(host.failures ? count(host.failures) : "–"), number(host.crawl_delay ? seconds(host.crawl_delay) : "–"),
      text(host.ip ?? "–"), unitActions(host, () => this.load()),
    ]);
    return table("Hosts", columns, rows, { sort: this.sort, onSort: (name) => this.order(name) });
  }
}

class Sections extends Listing {
  about() {
    return this.fixed.demoted
      ? "What is held back: it looks like a trap, or you blocked it. A few probes in a hundred fetches go there; none to what is blocked."
      : "A section is the URLs of one shape on one host. The order of the crawl is made of these numbers.";
  }

  none() {
    return this.fixed.demoted
      ? nothing("Nothing is held back", "No section and no host looks like a trap, and none is blocked.")
      : nothing("No section has work", "Nothing waits to be fetched.");
  }

  list(data) {
    const columns = [
      ["Section", null, true], ["Waiting", "waiting"], ["Known", "known"], ["Fetched", "fetched"], ["Good", "good"],
      ["Novelty", "novelty"], ["", null, true],
    ];
    const rows = data.rows.map((unit) => [
      { node: el("span", {}, el("div", { class: "name mono", title: nameOf(unit) }, nameOf(unit)), unit.reason ? el("span", { class: "reason" }, unit.reason) : null, samples(unit)), text: true },
      number(count(unit.waiting)), number(count(unit.known)), number(count(unit.fetched)), number(count(unit.good)),
      number(decimal(unit.novelty)),
      unitActions(unit, () => this.load()),
    ]);
    return table(this.title, columns, rows, { sort: this.sort, onSort: (name) => this.order(name) });
  }
}

class Errors extends Tab {
  opened = new Set();
  touched = false;

  body(data) {
    if (!data.rows.length) return [nothing("Nothing went wrong", "All that was fetched in this run gave an answer, and none was an error.")];
    if (!this.touched) this.opened.add(data.rows[0].kind);
    this.touched = true;
    return data.rows.map((row) => {
      const list = row.examples.map((example) => el(
        "li", {}, link(example.url), " ", el("span", { class: "quiet" }, `at ${time(example.at)}`),
        example.referrer ? el("div", { class: "quiet" }, "found on ", link(example.referrer)) : null,
      ));
      const node = el(
        "details", { class: "kind", open: this.opened.has(row.kind) },
        el("summary", { "data-key": row.kind }, row.kind, el("span", { class: "quiet" }, `${count(row.count)} ${row.count === 1 ? "URL" : "URLs"}`)),
        el("ul", {}, ...list),
      );
      node.addEventListener("toggle", () => (node.open ? this.opened.add(row.kind) : this.opened.delete(row.kind)));
      return node;
    });
  }
}

/** Of these tabs the samples tell all. */
class Told extends Tab {
  load() { if (this.data) this.render(); }

  sample(data) {
    this.data = data;
    this.render();
  }
}

/** The workers of a cluster. */
class Workers extends Told {
  body({ workers }) {
    const columns = [
      ["Pages", "fetched", count], ["Pages/s", "rate", rate], ["Received", "received", bytes], ["Bytes/s", "byte_rate", bytes],
      ["Errors", "errors", count], ["Lost", "lost", count], ["In flight", "in_flight", count], ["Waiting", "waiting", count],
      ["Partitions", "partitions", count], ["Memory", "memory", bytes], ["Cores", "cpu", decimal],
    ];
    const heads = [["Worker", null, true], ["State", null, true], ...columns.map(([name]) => [name]), ["Last heard"]];
    const cells = (of) => columns.map(([, name, format]) => number(format(of(name))));
    const rows = workers.map((worker) => [
      { node: el("span", {}, el("div", { class: "name mono" }, worker.place), el("span", { class: "reason" }, worker.name)), text: true },
      { node: mark(worker.state), text: true }, ...cells((name) => worker.figures[name]),
      number(worker.age < 4 ? "now" : `${seconds(worker.age)} ago`),
    ]);
    const sum = (name) => workers.reduce((all, worker) => all + worker.figures[name], 0);
    const all = [text("All"), text(count(workers.length)), ...cells(sum), number("")];
    const about = el("p", { class: "about" }, "Pages, bytes and errors count from each worker's own start. One that was silent for 6 seconds is shown as lost: the partitions that it had go to the others. Lost are pages that a worker fetched for nothing, as others had their sites by then.");
    return [about, table("Workers", heads, [...rows, all])];
  }
}

/** The parts of the engine: a card each, of those that there are. */
class Engine extends Told {
  body({ figures: f }) {
    const card = (title, facts) => (facts.length ? el(
      "div", { class: "card" }, el("h3", {}, title),
      el("dl", { class: "facts" }, ...facts.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])),
    ) : null);
    const counted = (map) => Object.entries(map).map(([name, value]) => [name.replaceAll("_", " "), count(value)]);
    const share = (part, all) => `${count(part)}${all ? `, ${percent(part / all)}` : ""}`;
    const { seen, content, browser, remote } = f;
    const tiers = { cache_hits: "The cache knew", recent_hits: "Recently added", bloom_negatives: "New by the filter", bloom_positives: "Seen by the filter alone", buffer_hits: "Kept records", disk_lookups: "Looked up on disk" };
    const cards = [
      card("URL-seen test", [["Asked", count(seen.asked)], ...Object.entries(tiers).map(([name, words]) => [words, share(seen[name], seen.asked)]),
        ["Wrong yes of the filter", count(seen.bloom_false_positives)], ["Reads from disk", count(seen.disk_reads)],
        ["Cache", `${count(seen.cached)} of ${count(seen.cache_capacity)}`], ["Filter", `${bytes(seen.bloom_bytes)}${seen.filling ? ", not yet whole" : ""}`]]),
      card("Content-seen test", [["Pages compared", count(content.pages)], ["Another page's body", share(content.equal, content.pages)],
        ["Nearly the text of another", share(content.near, content.pages)], ["Links not followed, of pages", count(content.links_skipped)]]),
      card("Frontier", [["Known", count(f.known)], ["Excluded, by robots.txt and rules", count(f.excluded)], ["Requisites fetched", count(f.requisites)],
        ["Waiting for silent hosts", count(f.silent)], ["Links to known URLs", count(f.duplicates)], ["Credit with the lambda page", percent(f.reserve)]]),
      card("Process", [["Last checkpoint", `${seconds(f.checkpoint_age)} ago`], ["Checkpoints in this run", count(f.checkpoints)], ["Database", bytes(f.database)],
        ["Memory", bytes(f.memory)], ["Cores in use", decimal(f.cpu)], ["This run", duration(f.seconds)]]),
      card("Answers", counted(f.statuses)), card("Downloads that failed", counted(f.failures)), card("Hosts without a page", counted(f.without_page)),
      card("Certificates that do not hold", counted(f.certificates)), card("Sites that said no", counted(f.refusals)), card("Sitemaps", counted(f.sitemaps)),
      card("Store elsewhere", counted({ ...remote, bytes: 0 }).filter(([name]) => name !== "bytes").concat("bytes" in remote ? [["Sent in this run", bytes(remote.bytes)]] : [])),
      card("Browser", "shown" in browser ? [["Pages shown now", count(browser.shown)], ["Pages waiting for it", count(browser.waiting)], ["Memory", bytes(browser.memory)]] : []),
      card("Pages in the browser", counted(f.rendering)),
    ];
    return [el("div", { class: "cards" }, ...cards)];
  }
}

export class Tabs {
  /** `more`: tabs before the last. */
  constructor(cluster, more = []) {
    this.all = [
      ...(cluster ? [new Workers("workers", "Workers")] : []),
      new Hosts("hosts", "Hosts", { hint: "Search hosts" }),
      new Sections("sections", "Sections", { hint: "Search sections" }),
      new Sections("held", "Held back", { hint: "Search what is held back", source: "sections", fixed: { demoted: 1 } }),
      new Errors("errors", "Errors"),
      ...more,
      new Engine("engine", "Engine"),
    ];
    this.numbers = {};
    this.buttons = this.all.map((tab, n) => {
      this.numbers[tab.id] = el("span", { class: "number" });
      return el("button", {
        type: "button", role: "tab", id: `tab-${tab.id}`, "aria-controls": "panel", "aria-selected": "false", tabindex: "-1",
        onclick: () => this.choose(n), onkeydown: (event) => this.key(event, n),
      }, tab.title, this.numbers[tab.id]);
    });
    byId("tabs").replaceChildren(...this.buttons);
    const named = this.all.findIndex((tab) => `#${tab.id}` === location.hash);
    this.choose(Math.max(0, named));
  }

  key(event, n) {
    const last = this.all.length - 1;
    const to = { ArrowRight: n === last ? 0 : n + 1, ArrowLeft: n === 0 ? last : n - 1, Home: 0, End: last }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.choose(to);
    this.buttons[to].focus();
  }

  choose(n) {
    this.current?.close();
    this.buttons.forEach((button, m) => {
      button.setAttribute("aria-selected", String(m === n));
      button.tabIndex = m === n ? 0 : -1;
    });
    this.current = this.all[n];
    byId("panel").setAttribute("aria-labelledby", `tab-${this.current.id}`);
    history.replaceState(null, "", n ? `#${this.current.id}` : location.pathname);
    this.current.open(byId("panel"));
  }

  sample(figures, workers) {
    this.all.forEach((tab) => tab.sample({ figures, workers }));
    const tell = (id, value) => { if (this.numbers[id]) this.numbers[id].textContent = value ? count(value) : ""; };
    tell("workers", workers.length);
    tell("hosts", figures.hosts);
    tell("held", figures.demoted);
    tell("errors", figures.errors);
  }

  /** The crawl has ended: what is shown stays. */
  freeze() {
    this.all.forEach((tab) => { tab.frozen = true; });
  }
}
