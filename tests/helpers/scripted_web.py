"""A site whose pages are built by a script: a router with pushState links, and texts that it fetches as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping

from localweb import Answer, LocalWeb, Page

SHELL = "<!doctype html><title>app</title><body><div id=root></div><script src=/app.js></script></body>"
_APP = """
const root = document.getElementById('root');
async function show() {
  const page = await (await fetch('/api' + location.pathname)).json();
  document.title = page.title;
  root.innerHTML = `<h1>${page.title}</h1><p>${page.text}</p><img src=/logo.png>`
    + page.links.map(link => `<a href="${link}">${link}</a>`).join(' ');
}
document.addEventListener('click', event => {
  if (event.target.tagName !== 'A') return;
  event.preventDefault();
  history.pushState({}, '', event.target.href);
  show();
});
show();
"""
LOGO = Answer(b"\x89PNG\r\n\x1a\n" + bytes(64), 200, {"Content-Type": "image/png"})


def script(text: str) -> Answer:
    return Answer(text.encode(), 200, {"Content-Type": "text/javascript"})


def data(title: str, *links: str) -> Answer:
    page = {"title": title, "text": f"All about {title}. " * 20, "links": links}
    return Answer(json.dumps(page).encode(), 200, {"Content-Type": "application/json"})


def scripted(graph: Mapping[str, tuple[str, ...]], others: Mapping[str, Page] | None = None) -> dict[str, Page]:
    """Pages with these links, each a shell until a browser has built it; and `others`, as they are."""
    pages: dict[str, Page] = {"/robots.txt": "", "/app.js": script(_APP), "/logo.png": LOGO}
    pages |= dict.fromkeys(graph, SHELL)
    pages |= {f"/api{path}": data(f"page {path}", *links) for path, links in graph.items()}
    return pages | dict(others or {})


def scripted_web(graph: Mapping[str, tuple[str, ...]], others: Mapping[str, Page] | None = None) -> LocalWeb:
    return LocalWeb(scripted(graph, others))
