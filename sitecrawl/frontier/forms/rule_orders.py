"""What a person says of a rule about URLs, while no crawl runs: it is refused, holds, or is left to its evidence.

Written where the crawl finds it when it goes on: `Forms.remember` then joins or frees what the rule is about. While
the crawl runs, the dashboard refuses a rule, by setting its section free.
"""

from __future__ import annotations

from pathlib import Path

from sitecrawl.base.errors import OptionError
from sitecrawl.base.hashing import HASH_NAME
from sitecrawl.crawldir.database import Database
from sitecrawl.crawldir.directory import manifest_of
from sitecrawl.frontier.forms.evidence import ACTIVE, State
from sitecrawl.frontier.forms.learner import Learner, Learnt
from sitecrawl.frontier.urls.host import Host
from sitecrawl.frontier.urls.tables import HostTable
from sitecrawl.frontier.urls.trap_state import Reason
from sitecrawl.urls.fingerprint import Fingerprinter


def order_rule(directory: Path, name: str, state: State) -> str:
    """Let the rule `name` (its number, `@`, its host) of the crawl in `directory` be `REFUSED`, `ORDERED`, or, with
    `CANDIDATE`, decided by its evidence. Returns it in words.

    Raises `OptionError` if there is no such rule, `CrawlDirectoryInUse` while the crawl runs, `StorageError`.
    """
    number, _, host_name = name.partition("@")
    fingerprints = Fingerprinter(manifest_of(directory).fingerprint_key)
    database = Database(directory / "db", hash_name=HASH_NAME)
    try:
        hosts = HostTable(database, fingerprints.host)
        host = hosts.get(hosts.key_of(host_name))
        data = database.get("rules", host.key) if host is not None else None
        learner = Learner() if data is None else Learner.unpack(data)
        learnt = learner.numbered(int(number)) if number.isdecimal() else None
        if host is None or learnt is None:
            raise OptionError(f"The crawl in {directory} has no rule {name!r}: scrapy frontier --rules lists them")
        learner.order(learnt, state)
        _write(database, hosts, host, learner, learnt)
        return f"{name} is {state.name.lower()}: {learnt.rule}"
    finally:
        database.close()


def _write(database: Database, hosts: HostTable, host: Host, learner: Learner, learnt: Learnt) -> None:
    batch = database.batch()
    batch.put("rules", host.key, learner.pack())
    if learnt.evidence.state in ACTIVE:  # the crawl looks for the rules of a host that has such a section
        section = hosts.rule_section(host, str(learnt))
        section.trap.demoted, section.trap.reason = True, Reason.JOINED
        hosts.changed(host, section)
        hosts.flush(batch)
    database.write(batch)
