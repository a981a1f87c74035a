// What an operator does; each act is confirmed first.

import { byId, el, say, shown } from "./dom.js";

async function post(name, fields) {
  const answer = await fetch(`act/${name}`, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(fields),
  });
  const told = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(told.error ?? `The crawl answered ${answer.status}`);
  return told.done;
}

/**
 * Ask, and do it if the answer is yes. `fields` gives what is sent, when it is sent, or a promise of it; `more` are
 * nodes to be filled in. Resolves to whether it was done.
 */
export function ask({ title, text, yes, action, fields = () => ({}), more = [], danger = false }) {
  const dialog = byId("ask");
  const [go, no, wrong] = [byId("ask-yes"), byId("ask-no"), byId("ask-wrong")];
  byId("ask-title").textContent = shown(title);
  byId("ask-text").textContent = shown(text);
  byId("ask-more").replaceChildren(...more);
  go.textContent = yes;
  go.classList.toggle("danger", danger);
  go.disabled = false;
  wrong.hidden = true;
  return new Promise((resolve) => {
    let done = false;
    go.onclick = async () => {
      go.disabled = true;
      try {
        say(await post(action, await fields()));
        done = true;
        dialog.close();
      } catch (error) {
        wrong.textContent = error instanceof TypeError ? "The crawl cannot be reached" : shown(error.message);
        wrong.hidden = false;
        go.disabled = false;
      }
    };
    no.onclick = () => dialog.close();
    dialog.addEventListener("close", () => resolve(done), { once: true });
    dialog.showModal();
    (dialog.querySelector("#ask-more :is(input, select, textarea)") ?? go).focus();
  });
}

export function askPause() {
  return ask({
    title: "Pause the crawl?", yes: "Pause", action: "pause",
    text: "What is under way comes in; nothing new is asked for until you resume.",
  });
}

export function askResume() {
  return ask({ title: "Resume the crawl?", yes: "Resume", action: "resume", text: "It goes on where it was." });
}

export function askStop() {
  return ask({
    title: "Stop the crawl?", yes: "Stop", action: "stop", danger: true,
    text: "What is under way comes in for some seconds, what waits stays on disk: the same command goes on later. This page ends with the crawl.",
  });
}

export function askSeeds() {
  const label = el("label", { for: "seeds" }, "URLs or domains, one a line");
  const area = el("textarea", { id: "seeds", spellcheck: "false", autocapitalize: "off" });
  return ask({
    title: "Add seeds", yes: "Add", action: "seed", fields: () => ({ urls: area.value }), more: [label, area],
    text: "They are fetched first, and the crawl follows their links as it does those of the other seeds.",
  });
}

const named = (unit) => unit.host + (unit.shape ?? "");

export function askBlock(unit) {
  return ask({
    title: `Block ${named(unit)}?`, yes: "Block", action: "block", danger: true,
    fields: () => ({ host: unit.host, shape: unit.shape ?? "" }),
    text: "Nothing more of it is fetched, in this run and those that resume it, until you set it free. What was fetched stays.",
  });
}

export function askRelease(unit) {
  return ask({
    title: `Set ${named(unit)} free?`, yes: "Set free", action: "release",
    fields: () => ({ host: unit.host, shape: unit.shape ?? "" }),
    text: "It is fetched like everything else, and will not be held back again, whatever it looks like.",
  });
}
