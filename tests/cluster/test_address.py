"""URLs of a Redis: whom they name, and what of them may be shown."""

from __future__ import annotations

import pytest

from sitecrawl.base.errors import OptionError
from sitecrawl.cluster.address import sentinels_of, shown


class TestSentinels:
    def test_none(self) -> None:
        """Other URLs are redis-py's to read."""
        assert sentinels_of("redis://a.example:6379/0") is None
        assert sentinels_of("") is None

    def test_all_parts(self) -> None:
        """User, hosts with or without a port, service, database; TLS and its files are for sentinels, too."""
        found = sentinels_of(
            "rediss+sentinel://me:p%40ss@a.example,b.example:9,[::1]:7/main/2?ssl_ca_certs=/ca"
            "&sentinel_username=asks&sentinel_password=x"
        )
        assert found is not None
        assert found.sentinels == (("a.example", 26379), ("b.example", 9), ("::1", 7))
        assert found.service == "main"
        tls = {"ssl": True, "ssl_ca_certs": "/ca"}
        assert found.master == {"username": "me", "password": "p@ss", "db": 2, **tls}
        assert found.asking == {"username": "asks", "password": "x", **tls}

    def test_without_user_and_database(self) -> None:
        """Sentinels are asked without the master's password: they have one of their own, or none."""
        found = sentinels_of("redis+sentinel://:secret@a.example/main")
        assert found is not None
        assert (found.master, found.asking) == ({"password": "secret", "db": 0}, {})

    @pytest.mark.parametrize("rest", ["a.example:1", "a.example/", ",a.example/main", "a:x/main", "a/main/one"])
    def test_what_is_no_url_of_sentinels(self, rest: str) -> None:
        """It is refused, in one line without the password."""
        with pytest.raises(OptionError, match=r"redis\+sentinel://") as raised:
            sentinels_of(f"redis+sentinel://me:secret@{rest}")
        assert "secret" not in str(raised.value)


class TestShown:
    @pytest.mark.parametrize(
        ("url", "text"),
        [
            ("redis://me:secret@a.example:1/0", "redis://a.example:1/0"),
            ("redis+sentinel://me:secret@a,b:1/main/0?sentinel_password=secret", "redis+sentinel://a,b:1/main/0"),
            ("redis://a.example/0?password=se@cret", "redis://..."),
            ("redis://me:se?cret@a.example/0", "redis://..."),
        ],
    )
    def test_no_password(self, url: str, text: str) -> None:
        """Wherever it stands, and whatever it is made of."""
        assert shown({"url": url}) == text

    def test_without_url(self) -> None:
        """Host and port of scrapy-redis' settings."""
        assert shown({"host": "a.example", "password": "secret"}) == "a.example:6379"
