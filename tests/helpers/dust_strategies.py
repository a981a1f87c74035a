"""URLs and rules by chance, of parts that come together often enough."""

from __future__ import annotations

from hypothesis import strategies as st

from sitecrawl.frontier.forms.rules import CASE, DROP, INDEX, MIRROR, SLASH, Rule

A = "http://a.example"
segments = st.sampled_from(["a", "B", "b", "p17", "x.php", "index.html", "*", "s%2Fx", "f3", "S"])
keys = st.sampled_from(["t=1", "t=2", "sid=9", "sid", "view=print", "start=0", "Z=%C3%A4", "/p/1", "/1=2", "=2"])
places = st.sampled_from(["/", "/*", "/a", "/*/*", "/a/*", "/*/*/*", "/x.php", "/*/x.php", "/*/*.html"])


def drop(place: str, *what: str) -> Rule:
    return Rule(DROP, place, what)


def mirror(origin: str, other: str) -> Rule:
    return Rule(MIRROR, what=(origin, other))


hosts = st.sampled_from([A, "http://www.a.example", "https://a.example"])
slots = st.sampled_from(
    ["t", "sid", "view", "start", "start=0", ";v", "&/p/1", "&/1", "&", "/0", "/1", "/3", "/0-", "/2-"]
)
rules = st.one_of(
    st.builds(Rule, st.just(DROP), places, st.lists(slots, min_size=1, max_size=3, unique=True).map(tuple)),
    st.just(Rule(INDEX, what=("index.html",))),
    st.just(Rule(SLASH)),
    st.just(Rule(CASE)),
    st.builds(mirror, hosts, hosts).filter(lambda rule: len(set(rule.what)) > 1),
)


@st.composite
def urls(draw):
    path = "/".join(draw(st.lists(segments, max_size=5)))
    query = "&".join(draw(st.lists(keys, max_size=4)))
    end = draw(st.sampled_from(["", "/", ";v=1"])) if path else ""
    return f"{draw(hosts)}/{path}{end}" + (f"?{query}" if query else "")
