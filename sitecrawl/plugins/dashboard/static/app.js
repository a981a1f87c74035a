// The page of one crawl, or of the workers of a cluster: it asks for all there is once a second, and draws it.
// Elements are made of text alone: what comes off the web can be nothing else here.

const CONTROL = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g; // or invisible, or turning the text
const GREATEST = new Set(["at", "seconds", "p50", "p95", "checkpoint_age", "reserve"]); // of workers: others add up
const byId = (id) => document.getElementById(id);
const count = (n) => (n ?? 0).toLocaleString("en", { maximumFractionDigits: n < 100 ? 1 : 0 });
const seconds = (n) => (n < 1 ? `${Math.round(n * 1000)} ms` : n < 60 ? `${count(n)} s` : `${Math.floor(n / 3600)}:${String(Math.floor(n / 60) % 60).padStart(2, "0")}:${String(Math.floor(n) % 60).padStart(2, "0")}`);
const bytes = (n) => { let unit = 0; for (; n >= 1000 && unit < 4; unit += 1) n /= 1000; return `${count(n)} ${["B", "kB", "MB", "GB", "TB"][unit]}`; };
const shown = (text) => String(text).replace(CONTROL, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** An element; `on*` are listeners, strings among the children are shown as text. */
function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value);
  }
  node.append(...children.flat().filter((one) => one !== null).map((one) => (typeof one === "object" ? one : shown(one))));
  return node;
}

const link = (url) => (/^https?:\/\//i.test(url) ? el("a", { href: url, rel: "noreferrer noopener nofollow", target: "_blank" }, url) : el("span", {}, url));

/** What an operator does is confirmed first. `more` are fields to be filled in, of which `fields` makes what is sent. */
function ask(title, text, action, fields = () => ({}), more = []) {
  const [dialog, go, wrong] = [byId("ask"), byId("ask-yes"), byId("ask-wrong")];
  byId("ask-title").textContent = shown(title);
  byId("ask-text").textContent = text;
  byId("ask-more").replaceChildren(...more);
  go.disabled = false;
  wrong.textContent = "";
  go.onclick = async () => {
    go.disabled = true;
    try {
      const answer = await fetch(`act/${action}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(fields()) });
      const told = await answer.json();
      if (!answer.ok) throw new Error(told.error);
      byId("said").textContent = shown(told.done);
      dialog.close();
    } catch (error) {
      wrong.textContent = error instanceof TypeError ? "The crawl cannot be reached" : shown(error.message);
      go.disabled = false;
    }
  };
  dialog.showModal();
  (dialog.querySelector("#ask-more textarea") ?? go).focus();
}

function askSeeds() {
  const area = el("textarea", { id: "seeds", spellcheck: "false" });
  ask("Add seeds", "They are fetched first, and the crawl follows their links as it does those of the other seeds.", "seed",
    () => ({ urls: area.value }), [el("label", { for: "seeds" }, "URLs or domains, one a line"), area]);
}

function holdButton(unit) {
  const name = unit.name ?? unit.host;
  const fields = () => ({ host: unit.host, shape: unit.shape ?? "" });
  const [word, action, text] = unit.demoted
    ? ["Set free", "release", "It is fetched like everything else, and will not be held back again."]
    : ["Block", "block", "Nothing more of it is fetched until you set it free. What was fetched stays."];
  return el("button", { type: "button", "data-key": `${word} ${name}`, "aria-label": `${word} ${shown(name)}`, onclick: () => ask(`${word} ${name}?`, text, action, fields) }, word);
}

/** A table of `rows`: lists of cells, of which the first is the row's name. */
function table(caption, heads, rows) {
  if (!rows.length) return [el("h2", {}, caption), el("p", { class: "quiet" }, "Nothing.")];
  const line = (cells) => el("tr", {}, cells.map((cell, n) => el(n ? "td" : "th", n ? {} : { scope: "row" }, cell ?? "–")));
  return [el("h2", {}, caption), el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    el("table", {}, el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))), el("tbody", {}, rows.map(line))))];
}

const reason = (unit) => (unit.reason ? el("span", { class: "quiet" }, unit.reason) : "");

function hosts(rows) {
  return table("Hosts with the most URLs waiting", ["Host", "State", "Next", "Waiting", "Known", "Fetched", "Good", "Failures", "Address", "Why", ""], rows.map((one) => [
    one.host, one.state, one.next === null ? "–" : `in ${seconds(one.next)}`, count(one.waiting), count(one.known), count(one.fetched), count(one.good),
    count(one.failures), one.ip, [reason(one), one.said_no ? el("span", { class: "quiet" }, ` said no: ${one.said_no}`) : ""], holdButton(one),
  ]));
}

function held(rows) {
  return table("Held back", ["Section or host", "Waiting", "Fetched", "Good", "Why", "Examples", ""], rows.map((one) => [
    one.name, count(one.waiting), count(one.fetched), count(one.good), reason(one),
    [...(one.fetched_urls ?? []).map((url) => url.url), ...(one.waiting_urls ?? [])].slice(0, 3).map((url) => el("div", {}, link(url))), holdButton(one),
  ]));
}

function errors(rows) {
  return table("Errors", ["Kind", "URLs", "The last of them, and where they were found"], rows.map((one) => [
    one.kind, count(one.count), one.examples.map((e) => el("div", {}, link(e.url), e.referrer ? [" on ", link(e.referrer)] : "")),
  ]));
}

function workersTable(workers) {
  const columns = [["Pages", "fetched", count], ["Pages/s", "rate", count], ["Received", "received", bytes], ["Errors", "errors", count], ["In flight", "in_flight", count], ["Waiting", "waiting", count], ["Memory", "memory", bytes]];
  return table("Workers", ["Worker", "State", ...columns.map(([name]) => name), "Last heard"], workers.map((one) => [
    `${one.place} (${one.name})`, one.state, ...columns.map(([, name, format]) => format(one.figures[name])), one.age < 4 ? "now" : `${seconds(one.age)} ago`,
  ]));
}

/** The figures of all workers together. */
function together({ workers, crawl }) {
  const joined = structuredClone(workers[0].figures);
  for (const { figures } of workers.slice(1)) {
    for (const [name, value] of Object.entries(figures)) {
      if (typeof value === "number") joined[name] = GREATEST.has(name) ? Math.max(joined[name] ?? 0, value) : (joined[name] ?? 0) + value;
    }
  }
  return { ...joined, ...crawl };
}

function tiles(f) {
  const tile = (name, value, more) => el("div", { class: "tile" }, el("dt", {}, name), el("dd", {}, value), el("dd", { class: "quiet" }, more));
  byId("tiles").replaceChildren(
    tile("Fetched", count(f.fetched), `${count(f.rate)} a second`), tile("Waiting", count(f.waiting), `${count(f.known)} known`),
    tile("In flight", count(f.in_flight), `${count(f.active)} of ${count(f.hosts)} hosts`), tile("Received", bytes(f.received), `${bytes(f.byte_rate)} a second`),
    tile("Download", seconds(f.p50), `95% in ${seconds(f.p95)}`), tile("Errors", count(f.errors), `${count(f.failed)} given up`),
    tile("Held back", count(f.demoted), `${count(f.silent)} URLs of silent hosts`), tile("Memory", bytes(f.memory), `${count(f.cpu)} cores in use`),
  );
}

/** A line over time: a value for each of the times `t`, null where none is known. */
function chart(name, t, values) {
  const known = values.filter((one) => one !== null);
  const [from, to, most] = [t[0], t.at(-1), Math.max(0, ...known)];
  const [svg, line] = ["svg", "path"].map((tag) => document.createElementNS("http://www.w3.org/2000/svg", tag));
  const place = (at, n) => `${((100 * (at - from)) / (to - from || 1)).toFixed(2)} ${(100 - (100 * n) / (most || 1)).toFixed(2)}`;
  line.setAttribute("d", values.map((n, at) => (n === null ? "" : `${at && values[at - 1] !== null ? "L" : "M"}${place(t[at], n)}`)).join(""));
  svg.setAttribute("viewBox", "0 0 100 100");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("aria-hidden", "true");
  svg.append(line);
  return el("figure", {}, el("figcaption", { class: "quiet" }, `${name}: ${count(known.at(-1))} now, at most ${count(most)} in ${seconds(to - from)}`), svg);
}

function charts({ t, fetched, waiting }) {
  if (t.length < 3) return;
  const rates = fetched.slice(1).map((n, at) => (n === null || fetched[at] === null ? null : Math.max(0, n - fetched[at]) / (t[at + 1] - t[at] || 1)));
  byId("charts").replaceChildren(chart("Pages a second", t.slice(1), rates), chart("URLs waiting", t, waiting));
}

function state(now, words, isWrong = false) {
  byId("state").textContent = now;
  byId("state").dataset.state = now;
  const isLive = now === "running" || now === "paused";
  for (const id of ["pause", "seed", "stop"]) byId(id).disabled = !isLive;
  byId("pause").textContent = now === "paused" ? "Resume" : "Pause";
  document.title = `${now} – ${byId("spider").textContent}`;
  byId("notice").hidden = !words;
  byId("notice").dataset.kind = isWrong ? "wrong" : "told";
  byId("notice").textContent = shown(words);
}

/** Draw anew; the focus stays on what has the same key. */
function draw(told) {
  const [first] = told.workers;
  byId("spider").textContent = shown(first.spider);
  byId("where").textContent = shown([told.note, first.directory, `order ${first.order}`, seconds(first.figures.seconds)].filter(Boolean).join("  ·  "));
  tiles(together(told));
  charts(told.history);
  const key = document.activeElement?.dataset?.key;
  const place = [...document.querySelectorAll(".scroll")].map((one) => one.scrollLeft);
  byId("tables").replaceChildren(...(told.crawl ? workersTable(told.workers) : []), ...hosts(told.hosts), ...held(told.held), ...errors(told.errors));
  document.querySelectorAll(".scroll").forEach((one, n) => { one.scrollLeft = place[n] ?? 0; });
  if (key) [...document.querySelectorAll("[data-key]")].find((one) => one.dataset.key === key)?.focus({ preventScroll: true });
  if (first.state === "ended") state("ended", `The crawl ${first.ending}. These are its last figures.`);
  else if (first.lacking) state(first.state, `The crawl pauses by itself since ${new Date(first.lacking.since * 1000).toLocaleTimeString("en", { hour12: false })}: ${first.lacking.why}.`, true);
  else state(first.state, first.last);
}

async function poll() {
  try {
    const answer = await fetch("overview");
    if (!answer.ok) throw new Error(answer.status);
    const told = await answer.json();
    draw(told);
    if (told.workers[0].state === "ended") return;
  } catch {
    state("connection lost", "The crawl cannot be reached: it ended, or it hangs. These are the last figures that came.", true);
  }
  setTimeout(poll, 1000);
}

byId("pause").onclick = () => (byId("state").dataset.state === "paused"
  ? ask("Resume the crawl?", "It goes on where it was.", "resume")
  : ask("Pause the crawl?", "What is under way comes in; nothing new is asked for until you resume.", "pause"));
byId("seed").onclick = askSeeds;
byId("stop").onclick = () => ask("Stop the crawl?", "What is under way comes in for some seconds, what waits stays on disk: the same command goes on later.", "stop");
byId("ask-no").onclick = () => byId("ask").close();
poll();
