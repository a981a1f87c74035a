// What a person looks up: why a URL was fetched or was not, the last fetches.

import { el, link } from "./dom.js";
import { bytes, seconds, time } from "./format.js";
import { Tab, mark, nothing, number, table, text } from "./tables.js";

export class Why extends Tab {
  asked = "";

  constructor() { super("why", "Why?"); }

  /** An answer stays as it is until somebody asks again. */
  async load() {
    if (this.asked) await super.load();
    else this.render();
    clearTimeout(this.timer);
  }

  tools() {
    const input = el("input", { type: "search", "aria-label": "URL", placeholder: "https://example.com/page", value: this.asked, maxlength: "8000", spellcheck: "false", autocomplete: "off" });
    const ask = (event) => {
      event.preventDefault();
      Object.assign(this, { asked: input.value.trim(), data: null, wrong: "" });
      this.open(this.panel);
    };
    return [
      el("p", { class: "about" }, "Why a URL was fetched, waits, was left out, or is not known; as of about a second ago."),
      el("form", { class: "tools", onsubmit: ask }, input, el("button", { type: "submit", class: "small" }, "Ask")),
    ];
  }

  address() { return `why?${new URLSearchParams({ url: this.asked })}`; }

  body(data) {
    const facts = Object.entries({ ...data.evidence, ...(data.advice ? { "what helps": data.advice } : {}) });
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
