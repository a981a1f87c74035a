"""What a robots.txt says, and what it may cost: in rules, bytes and steps."""

from __future__ import annotations

import pytest
from protego import Protego

from sitecrawl.base.limits import ROBOTS_RULES, ROBOTS_SIZE, ROBOTS_WORK
from sitecrawl.http import robots_txt
from sitecrawl.http.robots_txt import RobotsTxt, as_utf8

MANY = "".join(f"User-agent: other{number}\n" for number in range(20_000))


def test_as_utf8_leaves_utf8_alone() -> None:
    """Only a UTF-16 byte order mark changes anything."""
    assert as_utf8("Disallow: /ü".encode()) == "Disallow: /ü".encode()


@pytest.mark.parametrize(
    "text",
    [
        f"{MANY}Disallow: /\n\nUser-agent: *\nDisallow: /secret\n",
        f"{MANY}User-agent: sitecrawl\nDisallow: /secret\n\nUser-agent: *\nDisallow: /\n",
        f"{MANY}Disallow: /\nUSERAGENT SiteCrawl # us\nDisallow: /secret\n",
        f"User-agent: s*itecrawl\nDisallow: /secret\n{MANY}Disallow: /\n",
        f"User-agent:\nDisallow: /\n{MANY}user agent: *\nDisallow: /secret\n",
    ],
)
def test_rules_of_others_are_not_kept(text: str) -> None:
    """However many crawlers a file names, one rule is kept, and it is the one for us."""
    rules = RobotsTxt(text.encode(), "sitecrawl")
    assert [rules.allows(path) for path in ("/", "/open", "/secret", "/secret/x")] == [True, True, False, False]
    assert rules.size < 300


LONG = "/" + "a" * 7_900
"""As long as a URL may be."""
RULES = {
    "short patterns": [f"/*{number:x}" for number in range(40_000)],
    "patterns with many stars": ["/" + "*a" * 20 + f"*{number}" for number in range(10_000)],
    "one pattern": ["/" + "*a" * 250_000 + "b"],
    "pieces that nearly fit": ["/*" + "a" * 49 + "b" + "a" * 49 + str(number) for number in range(5_000)],
    "prefixes": [f"/{number:x}" for number in range(40_000)],
    "prefixes of prefixes": ["/" + "a" * length for length in range(1, 1000)],
    "escapes": [f"/*%e4%41%2f{number}" for number in range(20_000)],
}


@pytest.mark.parametrize("name", RULES)
def test_what_a_file_of_rules_may_cost(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few bytes of memory; and of every URL, as many steps as are allowed: what would take more is forbidden."""
    steps = 0

    def counted(pattern: str, target: str) -> bool:
        nonlocal steps
        steps += len(pattern) * len(target) + robots_txt._PATTERN_COST
        return robots_txt_matches(pattern, target)

    robots_txt_matches = robots_txt.matches
    monkeypatch.setattr(robots_txt, "matches", counted)
    body = "\n".join(["User-agent: *", *(f"Disallow: {rule}" for rule in RULES[name])]).encode()
    rules = RobotsTxt(
        body[: ROBOTS_SIZE.value], "sitecrawl", max_rules=ROBOTS_RULES.value, max_work=ROBOTS_WORK.value
    )
    assert rules.size < 5 << 20
    for target in ("/", "/b", LONG):
        steps = 0
        allowed = rules.allows(target)
        assert steps <= ROBOTS_WORK.value
        assert not allowed or not rules.is_too_much(target)


def test_more_rules_than_are_kept() -> None:
    """What none of the first allows is forbidden: one of the others may forbid it."""
    body = b"User-agent: *\nAllow: /open\nDisallow: /secret\nDisallow: /other\n"
    rules = RobotsTxt(body, "sitecrawl", max_rules=2)
    assert rules.is_cut
    assert [rules.allows(path) for path in ("/open", "/secret", "/x")] == [True, False, False]
    whole = RobotsTxt(body, "sitecrawl", max_rules=3)
    assert (whole.is_cut, whole.allows("/x")) == (False, True)


def test_more_work_than_is_done() -> None:
    """A long URL is forbidden where holding it against all patterns would take too many steps; a short one is not."""
    rules = RobotsTxt(b"User-agent: *\nDisallow: /*x*y\nDisallow: /*.cgi$\n", "sitecrawl", max_work=10_000)
    assert (rules.allows("/open"), rules.allows("/a.cgi"), rules.allows(LONG)) == (True, False, False)
    assert RobotsTxt(b"User-agent: *\nDisallow: /x\n", "sitecrawl", max_work=0).allows(LONG)


@pytest.mark.parametrize(
    ("rules", "allowed", "forbidden"),
    [
        ("Disallow: /a*b*c$", ["/abcx", "/bc", "/a"], ["/abc", "/axbxbxc", "/abcxbc"]),
        ("Disallow: /*a*ab$", ["/ab", "/aabx"], ["/aab", "/xaxab"]),
        ("Disallow: /\nAllow: /index.html", ["/", "/index.html"], ["/x", "/?"]),
        ("Disallow: /x\nAllow: /x", ["/x", "/xy"], []),
        ("Disallow: /a\nAllow: /ab\nDisallow: /abc\nAllow: /*d", ["/ab", "/abx", "/d"], ["/a", "/abc", "/abcd"]),
        ("Disallow: /%7euser\nDisallow: /\u00e4", ["/user"], ["/~user", "/%7Euser/x", "/%c3%a4", "/%C3%A4"]),
        ("Disallow: https://a.example/x", ["/x"], ["/https://a.example/x"]),
        ("Disallow", ["/"], []),
        ("Disallow /x:y\nnothing: of it\nDisallow : /z", ["/", "/x"], ["/x:y", "/z"]),
    ],
)
def test_the_longest_rule_decides(rules: str, allowed: list[str], forbidden: list[str]) -> None:
    """As RFC 9309 has it, and as Protego reads what is written otherwise."""
    text = f"User-agent: *\n{rules}\n"
    ours, others = RobotsTxt(text.encode(), "sitecrawl"), Protego.parse(text)
    for target in (*allowed, *forbidden):
        assert ours.allows(target) == (target in allowed), target
        assert others.can_fetch(f"http://a.example{target}", "sitecrawl") == (target in allowed), target


@pytest.mark.parametrize(
    ("rules", "allowed", "forbidden"),
    [
        ("Disallow: /a%2A\nDisallow: /b%24", ["/ax", "/a", "/b", "/bx"], ["/a*", "/a%2ax", "/b$x", "/b%24"]),
        ("Disallow: /a$b\nDisallow: /c$$", ["/a", "/ab", "/c", "/c$x"], ["/a$b", "/a%24bx", "/c$", "/c%24"]),
        ("Disallow: /*%2a*$", ["/x", "/"], ["/x*", "/x%2ay"]),
    ],
)
def test_stars_and_dollars_that_are_escaped(rules: str, allowed: list[str], forbidden: list[str]) -> None:
    """RFC 9309 §2.2.3: they are those of a URL, however the URL writes them."""
    ours = RobotsTxt(f"User-agent: *\n{rules}\n".encode(), "sitecrawl")
    assert [target for target in (*allowed, *forbidden) if ours.allows(target)] == allowed


@pytest.mark.parametrize(("value", "seconds"), [("2.5", 2.5), ("x", None), ("-1", None), ("inf", None), ("", None)])
def test_crawl_delays(value: str, seconds: float | None) -> None:
    """The last that is a number counts, of the group for us."""
    text = f"User-agent: other\nCrawl-delay: 9\n\nUser-agent: sitecrawl\nCrawl-delay: {value}\n"
    assert RobotsTxt(text.encode(), "sitecrawl").crawl_delay == seconds
