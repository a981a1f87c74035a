// What holds for the crawl or one of its hosts, changed while it runs; and the list of what was changed.

import { ask } from "./actions.js";
import { el, fill, shown } from "./dom.js";
import { moment } from "./format.js";
import { Tab, nothing, table, text } from "./tables.js";

const LABELS = {
  delay: "Seconds between two requests to a host", concurrency: "Requests under way on the host",
  max_pages: "Pages to fetch, 0 for no limit", max_depth: "Links to follow from a seed, 0 for no limit",
  scope: "Links that share this with a seed", allow: "Only URLs that match one of these, one a line", deny: "No URL that matches one of these, one a line",
};
const CHOICES = { host: "host: its host", site: "site: its domain, with all hosts of it", prefix: "prefix: its host and folder", any: "any: nothing, all links are followed" };
const LISTS = new Set(["allow", "deny"]);

/** What there is to fill in for one option; `value` is what holds now, `choices` all that it can be if these are few. */
function field(option, value, choices) {
  const label = el("label", { for: "terms-value" }, LABELS[option] ?? option);
  const input = choices
    ? el("select", { id: "terms-value" }, ...choices.map((one) => el("option", { value: one }, CHOICES[one] ?? one)))
    : LISTS.has(option)
    ? el("textarea", { id: "terms-value", spellcheck: "false", autocapitalize: "off" })
    : el("input", { id: "terms-value", type: "number", min: option === "concurrency" ? "1" : "0", step: option === "delay" ? "any" : "1" });
  input.value = LISTS.has(option) ? (value ?? []).join("\n") : (value ?? "");
  return [label, input];
}

/** Ask what is to be otherwise. `host` is empty for the crawl. */
export async function askTerms(host = "") {
  const name = el("input", { id: "terms-host", value: host, spellcheck: "false", autocapitalize: "off", autocomplete: "off", placeholder: "the whole crawl", maxlength: "300" });
  const option = el("select", { id: "terms-option" });
  const value = el("div", { class: "fields" });
  const reset = el("input", { id: "terms-reset", type: "checkbox" });
  let values = {};
  let choices = {};
  let turn = 0;
  let isTyped = false;
  const filled = () => value.querySelector("#terms-value");
  const lock = () => filled()?.toggleAttribute("disabled", reset.checked);
  const choose = () => {
    isTyped = false;
    fill(value, ...field(option.value, values[option.value], choices[option.value]));
    filled().oninput = () => { isTyped = true; };
    lock();
  };
  const look = async () => {
    const now = ++turn;
    const answer = await fetch(`terms?${new URLSearchParams({ host: name.value.trim() })}`).catch(() => null);
    if (now !== turn || !answer?.ok) return;
    const told = await answer.json();
    if (now !== turn) return;
    ({ values, choices } = told);
    const chosen = option.value;
    const typed = isTyped ? filled().value : null;
    fill(option, ...Object.keys(values).map((one) => el("option", { value: one }, one)));
    if (chosen in values) option.value = chosen;
    choose();
    // Who fills in the form does not wait for the answer: what was typed meanwhile stays.
    if (typed !== null && option.value === chosen) {
      filled().value = typed;
      isTyped = true;
    }
  };
  option.onchange = choose;
  reset.onchange = lock;
  let looking = look();
  name.onchange = () => { looking = look(); };
  await looking;
  return ask({
    title: "Change a setting", yes: "Change", action: "set",
    text: "The change applies at once, and to every run that resumes the crawl, until the settings say something else.",
    fields: async () => {
      await looking;
      return { host: name.value.trim(), option: option.value, value: reset.checked ? null : filled().value, was: values[option.value] };
    },
    more: [
      el("label", { for: "terms-host" }, "Host, empty for the whole crawl"), name,
      el("label", { for: "terms-option" }, "What"), option, value,
      el("label", { class: "check" }, reset, " as the settings have it"),
    ],
  });
}

/** The list of what was changed by hand. */
export class Changes extends Tab {
  constructor() { super("changes", "Changes"); }

  tools() {
    return [
      el("p", { class: "about" }, "Delay, scope and limits that were changed while the crawl ran, the newest first."),
      el("div", { class: "tools" }, el("button", { type: "button", class: "small", "data-key": "change", onclick: async () => { if (await askTerms()) this.load(); } }, "Change")),
    ];
  }

  body(data) {
    if (!data.rows.length) return [nothing("Nothing was changed", "All is as the settings say.")];
    const rows = data.rows.map((one) => [
      text(moment(one.at)), text(one.option), text(one.host ? shown(one.host) : "the crawl"), text(shown(one.before)), text(shown(one.after)), text(one.by),
    ]);
    return [table("Changes", ["When", "What", "Of", "Before", "After", "Who"].map((name) => [name, null, true]), rows)];
  }
}
