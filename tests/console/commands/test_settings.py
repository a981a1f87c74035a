"""`scrapy settings` tells what a crawl has."""

from __future__ import annotations

from console import command


def test_what_the_add_on_sets() -> None:
    """Scrapy's own command would say Scrapy's scheduler, and nothing of ours."""
    assert command("settings", "--get", "SCHEDULER").stdout == "sitecrawl.scheduler.Scheduler\n"
    assert command("settings", "--get", "SITECRAWL_SEEN_CACHE").stdout == "65536\n"


def test_what_the_user_sets() -> None:
    """The command line goes before the add-on."""
    assert command("settings", "--getint", "CONCURRENT_REQUESTS", "-s", "CONCURRENT_REQUESTS=7").stdout == "7\n"


def test_all_settings() -> None:
    """Each with its value, and what it does; a secret is masked."""
    lines = command("settings", "-s", "SITECRAWL_DASHBOARD_TOKEN=0123456789abcdef").stdout.splitlines()
    assert lines[lines.index("SITECRAWL_MAX_DELAY=60.0") + 1].endswith("and failures can lead to. (seconds)")
    assert "SITECRAWL_DASHBOARD_TOKEN=(masked)" in lines


def test_a_setting_that_there_is_not() -> None:
    """As `scrapy crawl` does, in one line."""
    done = command("settings", "--get", "SCHEDULER", "-s", "SITECRAWL_SEEN_CASH=1")
    assert done.returncode == 2
    assert "There is no setting SITECRAWL_SEEN_CASH: is SITECRAWL_SEEN_CACHE meant?" in done.stderr
