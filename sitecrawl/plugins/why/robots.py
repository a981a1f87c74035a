"""Which line of a robots.txt decides about a URL: the crawl itself asks `RobotsTxt`, which tells no lines."""

from __future__ import annotations

from sitecrawl.http.robots_txt import Rule, quoted, rules_for
from sitecrawl.urls.url import target_of


def deciding_rule(body: bytes, url: str, agent: str) -> Rule | None:
    """The rule by which `agent` may fetch `url`, or may not; None where the file says nothing of it."""
    target = quoted(target_of(url))
    found = [rule for rule in rules_for(body, agent) if rule.matches(target)]
    return max(found, key=lambda rule: rule.precedence, default=None)
