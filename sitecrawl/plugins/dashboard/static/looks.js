// What a person looks up: why a URL was fetched or was not, the last fetches, what waits of a host.

import { el, link, shown } from "./dom.js";
import { bytes, count, seconds, time } from "./format.js";
import { Tab, mark, nothing, number, table, text } from "./tables.js";

const SIZE = 25;

/** A box to type in, and a button; `ask` gets what was typed. */
function box(label, hint, value, ask) {
  const input = el("input", { type: "search", "aria-label": label, placeholder: hint, value, maxlength: "8000", spellcheck: "false", autocomplete: "off" });
  return el(
    "form", { class: "tools", onsubmit: (event) => { event.preventDefault(); ask(input.value.trim()); } },
    input, el("button", { type: "submit", class: "small" }, "Ask"),
  );
}

/** A tab that has nothing to load before something was typed. */
class Asking extends Tab {
  asked = "";
  once = false; // whether an answer stays as it is until somebody asks again

  ask(value) {
    this.asked = value;
    this.data = null;
    this.wrong = "";
    this.open(this.panel);
  }

  async load() {
    if (this.asked) await super.load();
    else if (this.panel) this.render();
    if (this.once) clearTimeout(this.timer);
  }
}

export class Why extends Asking {
  once = true;

  constructor() { super("why", "Why?"); }

  tools() {
    return [
      el("p", { class: "about" }, "Why a URL was fetched, waits, was left out, or is not known; as of about a second ago."),
      box("URL", "https://example.com/page", this.asked, (url) => this.ask(url)),
    ];
  }

  address() { return `why?${new URLSearchParams({ url: this.asked })}`; }

  body(data) {
    const facts = [...Object.entries(data.evidence), ...(data.advice ? [["what helps", data.advice]] : [])];
    return [
      el("p", { class: "answer", role: "status" }, data.answer), el("p", {}, link(data.url)),
      el("dl", { class: "evidence" }, ...facts.flatMap(([about, words]) => [
        el("dt", {}, about), el("dd", {}, ...words.split("\n").map((line) => el("div", {}, line))),
      ])),
    ];
  }
}

export class Fetches extends Tab {
  constructor() { super("fetches", "Fetches"); }

  body(data) {
    if (!data.rows.length) return [nothing("No fetch yet", "What is fetched from now on is shown here.")];
    const rows = data.rows.map((one) => [
      { node: link(one.url), text: true, wide: true }, number(one.status || "–"), text(one.why || one.type || "–"),
      number(time(one.at)), number(seconds(one.seconds)), number(bytes(one.size)),
      { node: one.good ? mark("good") : document.createTextNode("–"), text: true },
    ]);
    return [
      el("p", { class: "about" }, "The last 50 fetches of this run, the newest first."),
      table("The last fetches", [["URL", null, true], ["Status"], ["What", null, true], ["At"], ["Took"], ["Size"], ["", null, true]], rows),
    ];
  }
}

export class Queue extends Asking {
  offset = 0;

  constructor() { super("queue", "Queue"); }

  ask(value) {
    this.offset = 0;
    super.ask(value);
  }

  tools() {
    this.pager = el("div", { class: "end" });
    return [
      el("p", { class: "about" }, "What waits of one host, section by section, each in the order in which it would be fetched."),
      box("Host", "example.com", this.asked, (host) => this.ask(host)), el("div", { class: "tools" }, this.pager),
    ];
  }

  address() { return `queue?${new URLSearchParams({ host: this.asked, offset: this.offset, limit: SIZE })}`; }

  turn(by) {
    this.offset = Math.max(0, this.offset + by * SIZE);
    this.load();
  }

  body(data) {
    const last = this.offset + data.rows.length;
    const step = (name, by, off) => el("button", { type: "button", class: "small", "data-key": name, disabled: off, onclick: () => this.turn(by) }, name);
    this.pager.replaceChildren(
      el("span", { class: "quiet" }, data.rows.length ? `${count(this.offset + 1)}–${count(last)} of ${count(data.total)}` : ""),
      ...(data.total > SIZE ? [step("Back", -1, this.offset === 0), step("Next", 1, last >= data.total)] : []),
    );
    if (!data.rows.length) return [nothing("Nothing waits", `All that is known of ${shown(data.host)} has come to its end.`)];
    const rows = data.rows.map((one) => [
      { node: link(one.url), text: true, wide: true }, text(one.shape), number(count(one.depth)), number(one.attempts || "–"),
      { node: one.held ? mark("held back") : document.createTextNode("–"), text: true },
    ]);
    return [table("What waits", [["URL", null, true], ["Section", null, true], ["Depth"], ["Tries"], ["", null, true]], rows)];
  }
}
