"""URLs and rules by chance, of parts that come together often enough."""

from __future__ import annotations

from hypothesis import strategies as st

from sitecrawl.dust.rules import CaseFold, DropKey, DropSegment, DropSuffix, Mirror, TrailingSlash

A = "http://a.example"
segments = st.sampled_from(["a", "B", "b", "p17", "x.php", "index.html", "*", "s%2Fx", "f3", "S"])
keys = st.sampled_from(["t=1", "t=2", "sid=9", "sid", "view=print", "start=0", "Z=%C3%A4"])
places = st.sampled_from(["/", "/*", "/a", "/*/*", "/a/*", "/*/*/*", "/x.php", "/*/x.php", "/*/*.html"])
positions = st.integers(0, 3)
hosts = st.sampled_from([A, "http://www.a.example", "https://a.example"])
rules = st.one_of(
    st.builds(DropKey, places, st.sampled_from(["t", "sid", "view", "start", ";v"])),
    st.builds(DropKey, places, st.just("start"), st.just("0")),
    st.builds(DropSegment, places, positions, st.booleans()),
    st.just(DropSuffix("index.html")),
    st.just(TrailingSlash()),
    st.just(CaseFold()),
    st.builds(Mirror, hosts, hosts).filter(lambda mirror: mirror.origin != mirror.other),
)


@st.composite
def urls(draw):
    path = "/".join(draw(st.lists(segments, max_size=5)))
    query = "&".join(draw(st.lists(keys, max_size=4)))
    end = draw(st.sampled_from(["", "/", ";v=1"])) if path else ""
    return f"{draw(hosts)}/{path}{end}" + (f"?{query}" if query else "")
