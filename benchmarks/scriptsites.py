"""Two sites of https that are nothing until a script has built them, in the ways that sites of today do it, and all
else behind them: an HTTP proxy.

`feed.example` gets its texts as JSON, each with the time in its query, and its links from one address by POST, with
the page that is wanted in the body, as GraphQL has it; it loads a worker, a chunk of its script on demand, images of
several sizes, a frame and a style sheet that its script writes, and registers a service worker.
`routes.example` has one shell for all of its addresses and a router over `history.pushState`, which is also what
the first page does at once; forms of several kinds are posted for its texts. Neither was looked at when rendering
was written.

No script of theirs is an ES module: pywb 2.10 replays none (https://github.com/webrecorder/pywb/issues/771).
"""

from __future__ import annotations

import json
import ssl
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, unquote_plus, urlsplit

from certificates import certificate
from localweb import Answer
from threaded import Threaded

FEED: Final = "feed.example"
ROUTES: Final = "routes.example"
PAGES: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    FEED: {"/": ("/story/1", "/story/2"), **{f"/story/{n}": (f"/story/{n + 1}", "/") for n in range(1, 8)}},
    ROUTES: {
        "/": ("/home",),
        "/home": ("/team/ada", "/team/grace"),
        "/team/ada": ("/team/grace", "/work/engine"),
        "/team/grace": ("/team/ada", "/work/compiler"),
        "/work/engine": ("/home",),
        "/work/compiler": ("/home",),
    },
}
_SHELL: Final = (
    "<!doctype html><html lang=en><meta charset=utf-8><title>{0}</title><link rel=stylesheet href=/site.css>"
    "<body><main></main><script src=/{0}.js></script></body></html>"
)
_CSS: Final = (
    "body {font: 18px/1.5 sans-serif; margin: 3em auto; max-width: 40em} main {background: url(/paper.svg)}"
    "article {border-left: 6px solid #2a6; padding-left: 1em} a {margin-right: 1em} iframe {border: 0; height: 3em}"
)
_FEED: Final = """
const loaded = (url) => new Promise((done) => {
  const script = document.createElement('script');
  script.src = url;
  script.onload = done;
  document.head.append(script);
});
(async () => {
const main = document.querySelector('main');
const ask = (path) => fetch('/graphql', {
  method: 'POST', headers: {'Content-Type': 'application/json'},
  body: JSON.stringify({query: 'links', variables: {path, first: 10, drafts: false, after: null}}),
}).then((answer) => answer.json());
const story = await (await fetch(`/api/story?path=${encodeURIComponent(location.pathname)}&_=${Date.now()}`)).json();
const {links} = await ask(location.pathname);
await loaded('/card.js');
document.title = story.title;
main.innerHTML = card(story) + '<iframe src="/frame.html"></iframe>'
  + links.map((link) => `<a href="${link}">${link}</a>`).join('');
const sheet = document.createElement('style');
sheet.textContent = '@import url(/late.css);';
document.head.append(sheet);
const worker = new Worker('/worker.js');
worker.onmessage = (event) => main.insertAdjacentHTML('beforeend', `<p>${event.data} words</p>`);
worker.postMessage(story.text);
navigator.serviceWorker?.register('/sw.js').catch(() => 0);
})();
"""
_ROUTES: Final = """
const main = document.querySelector('main');
const asked = (path) => {
  if (path.startsWith('/team/')) {
    const form = new FormData();
    form.set('path', path);
    return {method: 'POST', body: form};
  }
  if (path.startsWith('/work/')) return {method: 'POST', body: new URLSearchParams({path, note: 'a b+c/ä'})};
  return {method: 'POST', body: path};
};
async function show(path) {
  history.pushState({}, '', path);
  const page = await (await fetch('/data', asked(path))).json();
  document.title = page.title;
  main.innerHTML = `<article><h1>${page.title}</h1><p>${page.text}</p></article>`
    + page.links.map((link) => `<a href="${link}">${link}</a>`).join('');
}
document.addEventListener('click', (event) => {
  if (event.target.tagName !== 'A') return;
  event.preventDefault();
  show(event.target.pathname);
});
show(location.pathname === '/' ? '/home' : location.pathname);
"""
_CARD: Final = """
window.card = (story) => `<article><h1>${story.title}</h1><p>${story.text}</p>
<img src="/small.svg" srcset="/small.svg 1x, /large.svg 2x" width=160 height=90>
<img src="/below.svg" loading=lazy width=160 height=90></article>`;
"""


def _drawn(colour: str) -> Answer:
    picture = (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 9'><path fill='{colour}' d='M0 0h16v9z'/></svg>"
    )
    return Answer(picture.encode(), 200, {"Content-Type": "image/svg+xml"})


def _typed(kind: str, text: str) -> Answer:
    return Answer(text.encode(), 200, {"Content-Type": f"{kind}; charset=utf-8"})


_NONE: Final = Answer(b"<title>404</title>", 404, {"Content-Type": "text/html"})
_FILES: Final = {
    "/site.css": _typed("text/css", _CSS),
    "/late.css": _typed("text/css", "h1 {color: #185}"),
    "/feed.js": _typed("text/javascript", _FEED),
    "/routes.js": _typed("text/javascript", _ROUTES),
    "/card.js": _typed("text/javascript", _CARD),
    "/worker.js": _typed("text/javascript", "onmessage = (event) => postMessage(event.data.split(' ').length);"),
    "/sw.js": _typed("text/javascript", "self.addEventListener('fetch', () => 0);"),
    "/frame.html": _typed("text/html", "<!doctype html><title>frame</title><p>Framed.<img src=/framed.svg width=16>"),
    "/paper.svg": _drawn("#f6faf7"),
    **{f"/{name}.svg": _drawn(colour) for name, colour in
       {"small": "#2a6", "large": "#185", "below": "#fa3", "framed": "#a3f"}.items()},
}  # fmt: skip


def answer(host: str, method: str, target: str, body: bytes) -> Answer:
    """What one of the two sites says."""
    parts = urlsplit(target)
    if parts.path in _FILES:
        return _FILES[parts.path]
    if method == "GET" and parts.path in PAGES[host]:
        return _typed("text/html", _SHELL.format(host.partition(".")[0]))
    if parts.path == "/api/story":
        return _story(host, parse_qs(parts.query).get("path", [""])[0])
    if parts.path in {"/graphql", "/data"} and method == "POST":
        said = unquote_plus(body.decode())
        return _story(host, next(path for path in sorted(PAGES[host], key=len, reverse=True) if path in said))
    return _NONE


def _story(host: str, path: str) -> Answer:
    text = f"This is what {host} says of {path}, once a script has asked for it. " * 5
    page = {"title": f"{path} of {host}", "text": text, "links": PAGES[host].get(path, ())}
    return _typed("application/json", json.dumps(page))


class ScriptSites(Threaded):
    """Serves the two until `close`, with certificates in `folder`; what is no host of theirs is asked of the proxy on
    the port `behind`.
    """

    def __init__(self, behind: int, folder: Path) -> None:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate(folder))
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(behind, tls))
        self._server.daemon_threads = True
        self.root = f"http://127.0.0.1:{self._server.server_address[1]}"
        self.serve(self._server)


def _handler(behind: int, tls: ssl.SSLContext) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = 1 << 16

        host = ""
        """Of the tunnel that this is."""

        def do_CONNECT(self) -> None:
            self.host = self.path.partition(":")[0]
            if self.host not in PAGES:
                self.send_error(502)
                return
            self.send_response_only(200)
            self.end_headers()
            self.wfile.flush()
            try:
                self.connection = tls.wrap_socket(self.connection, server_side=True)
            except OSError:  # whoever began it does not like the certificate, or has gone
                self.close_connection = True
                return
            self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb", self.wbufsize)
            self.close_connection = False  # also where HTTP/1.0 has asked, as Python's client does

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            said = answer(self.host, self.command, self.path, body) if self.host else self._behind()
            self.send_response(said.status)
            for name, value in {**said.headers, "Content-Length": str(len(said.body))}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(said.body)

        def _behind(self) -> Answer:
            connection = HTTPConnection("127.0.0.1", behind, timeout=30)
            try:
                connection.request("GET", self.path, headers={"Host": urlsplit(self.path).netloc})
                got = connection.getresponse()
                body = got.read()
                headers = {name: value for name in ("Content-Type", "Location") if (value := got.getheader(name))}
                return Answer(body, got.status, headers)
            finally:
                connection.close()

        do_GET = do_HEAD = do_POST = _serve  # noqa: N815 - http.server's names

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    return Handler
