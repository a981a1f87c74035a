// Elements are made of text alone: what comes off the web can be nothing else here.

const CONTROL = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** Text with everything written out that is invisible or turns the writing direction. */
export function shown(text) {
  return String(text).replace(CONTROL, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** An element; `on*` are listeners, `null`, `undefined` and `false` no attributes, strings among the children are shown. */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children) {
    if (child !== null && child !== undefined) node.append(typeof child === "object" ? child : shown(child));
  }
  return node;
}

/** A URL of the crawl: as text, and as a link that tells nobody where it was. */
export function link(url) {
  if (!/^https?:\/\//i.test(url)) return el("span", { class: "url" }, url);
  return el("a", { class: "url", href: url, rel: "noreferrer noopener nofollow", target: "_blank" }, url);
}

export const byId = (id) => document.getElementById(id);

/** Put `nodes` in the place of what is in `parent`; the focus stays on what has the same `data-key`. */
export function fill(parent, ...nodes) {
  const focused = parent.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  parent.replaceChildren(...nodes);
  if (focused === undefined) return;
  for (const node of parent.querySelectorAll("[data-key]")) {
    if (node.dataset.key === focused) node.focus({ preventScroll: true });
  }
}

/** Tell it to those who cannot see it. */
export function say(text) {
  byId("said").textContent = text;
}
