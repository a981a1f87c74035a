"""What comes into a frontier: seeds, the links of a page, a spider's requests, and what other frontiers have sent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from sitecrawl.frontier.contract import Asked
from sitecrawl.frontier.seen.tiered import SeenSet
from sitecrawl.frontier.urls.host import Host
from sitecrawl.frontier.urls.host_terms import TermsByHost
from sitecrawl.frontier.urls.link_credit import LinkCredit
from sitecrawl.frontier.urls.record import Flag, UrlState
from sitecrawl.frontier.urls.territory import Message, Outbox
from sitecrawl.frontier.urls.url_states import UrlStates
from sitecrawl.frontier.urls.visit import Visit
from sitecrawl.page.items import Link

_NO_LINK = Link("", "")


class Intake:
    """Each URL that is new goes into the queue of its section, once; one that is another frontier's to the `outbox`.

    `in_flight` are the visits under way, `grown` is told the hosts for which more waits. `linked_to` is told of
    requisites that have been fetched, and are linked to now. Links beyond the depth limit that `terms` have for
    their host are left out.
    `viewed` is told a page, its host, its links, and those of them that are new there.
    """

    def __init__(
        self,
        seen: SeenSet,
        states: UrlStates,
        link_credit: LinkCredit,
        *,
        in_flight: Mapping[bytes, Visit],
        grown: Callable[[Iterable[Host]], None],
        outbox: Outbox | None,
        linked_to: Callable[[bytes], None],
        terms: TermsByHost,
        has_requisites: bool,
        viewed: Callable[[Visit, Host, Sequence[Link], Sequence[Link]], None],
    ) -> None:
        self._seen = seen
        self._states = states
        self._link_credit = link_credit
        self._urls = link_credit.urls
        self._hosts = link_credit.hosts
        self._in_flight = in_flight
        self._grown = grown
        self._outbox = outbox
        self._linked_to = linked_to
        self._terms = terms
        self._has_requisites = has_requisites
        self._viewed = viewed

    def add(self, found: Sequence[Link], *, depth: int, referrer: bytes, asked: Asked | None) -> int:
        """See `contract.Frontier`."""
        if asked is None:
            return self._add_links(found, depth=depth, referrer=referrer)
        wanted = Message(_NO_LINK, depth, referrer, flags=asked.flags, request=asked.request)
        if asked.flags & Flag.REQUISITE and not asked.flags & Flag.UNFILTERED:
            return self._require(found, wanted)
        return sum([self._add_request(wanted._replace(link=one), asked) for one in found])

    def _add_links(self, found: Sequence[Link], *, depth: int, referrer: bytes) -> int:
        found = self._near(found, depth)
        if not found:
            return 0
        here, elsewhere = self._split(found)
        new = self._unseen(here)
        self._follow(here, new, depth=depth, referrer=referrer)
        count = len(new) + len(elsewhere)
        ledger = self._link_credit.ledger
        share, credit = (0, 0) if depth else (ledger.share(count), ledger.seed(len(new)))
        flags = Flag.NONE if depth else Flag.SEED
        self._send([Message(link, depth, referrer, credit=share, flags=flags) for link in elsewhere])
        self._copy(Message(link, depth, referrer, flags=flags) for link in new)
        self._grown(
            [self._states.insert(one, depth=depth, referrer=referrer, flags=flags, credit=credit) for one in new]
        )
        return count

    def expand(self, visit: Visit, found: Sequence[Link], *, rest: int) -> int:
        """See `contract.Frontier`."""
        depth = visit.depth + 1
        record = self._urls.get(visit.key)
        near = self._near(found, depth)
        if record is None or (not near and self._is_too_deep(depth)):
            return 0
        known = _first_of_each(near, but=visit.key)
        links = list(known.values())
        host = self._states.host_of(record)
        tenth = self._link_credit.spend(record, host, links, rest=rest)
        self._urls.put(visit.key, record)
        self._hosts.changed(host)
        here, elsewhere = self._split(links)
        self._send([Message(link, depth, visit.key, tenth) for link in elsewhere])
        if elsewhere:
            known = {link.key: link for link in here}
        unseen = [known.pop(key) for key in self._seen.add_new(list(known))]
        self._copy(Message(link, depth, visit.key, tenth) for link in unseen)
        self._follow(here, unseen, depth=depth, referrer=visit.key)
        self._link_credit.owe(record, known, tenth)
        page_host = None if visit.again else host
        hosts = [
            self._states.insert(link, depth=depth, referrer=visit.key, tenth=tenth, page_host=page_host)
            for link in unseen
        ]
        brought = [link.key for link, its_host in zip(unseen, hosts, strict=True) if its_host is page_host]
        self._states.bring(host, visit.key, brought)
        self._link_credit.link_hosts(record, host, links)
        section = host.sections[record.section]
        new: list[Link] = []
        for link, target in zip(unseen, hosts, strict=True):
            found_in = target.sections[self._urls.section_of(link.key)]
            if not found_in.trap.is_joined:  # it is no other form of a page there
                visit.news.add(host, section, target, found_in)
                if target is host:
                    new.append(link)
        self._viewed(visit, host, links, new)
        wanted = [link for link in known.values() if link.priority]
        hosts += filter(None, (self._states.prefer(link.key, link.priority) for link in wanted))
        self._grown(hosts)
        return len(unseen)

    def _require(self, found: Sequence[Link], wanted: Message) -> int:
        """Requisites are given no credit, and their page's worth is not judged by them."""
        here, elsewhere = self._split(list(_first_of_each(found, but=wanted.referrer).values()))
        new = self._unseen(here)
        self._send([wanted._replace(link=link) for link in elsewhere])
        self._copy(wanted._replace(link=link) for link in new)
        self._grown([self._insert(wanted._replace(link=link)) for link in new])
        return len(new) + len(elsewhere)

    def _follow(self, links: Sequence[Link], new: Sequence[Link], *, depth: int, referrer: bytes) -> None:
        """Of `links` of a page some were not `new`: those that were only parts of pages are pages, too."""
        if not self._has_requisites or len(links) == len(new):
            return
        records = self._urls.get_many([link.key for link in links])
        for link in links:
            record = records[link.key]
            if record is None or not record.flags & Flag.REQUISITE:
                continue
            self._copy([Message(link, depth, referrer)])
            if (visit := self._in_flight.get(link.key)) is not None:
                visit.is_linked_to = True
            elif record.state == UrlState.QUEUED:
                self._grown([self._states.await_as_page(link, record, depth=depth, referrer=referrer)])
            elif record.state == UrlState.REQUISITE:
                self._linked_to(link.key)

    def _add_request(self, wanted: Message, asked: Asked) -> bool:
        """Queue what a spider asked for, and False if it was seen. What has neither depth nor referrer brings credit,
        as a seed does.
        """
        link = wanted.link
        elsewhere = bool(self._split([link])[1])
        if not elsewhere and not self._are_new([wanted])[0]:
            self._follow_message(wanted)
            return False
        if asked.brings_credit or (wanted.depth == 0 and not any(wanted.referrer)):
            wanted = wanted._replace(credit=self._link_credit.ledger.share(1))
        if elsewhere:
            self._send([wanted])
            return True
        self._copy([wanted])
        host = self._insert(wanted)
        if (visit := self._in_flight.get(wanted.referrer)) is not None:
            page = self._states.known(visit.key)
            linking = self._states.host_of(page)
            section = host.sections[self._urls.section_of(link.key)]
            visit.news.add(linking, linking.sections[page.section], host, section)
        self._grown([host])
        return True

    def receive(self, messages: Sequence[Message]) -> None:
        """Let in what other frontiers have sent, as if it had been found here; the seen set is asked once."""
        self._link_credit.ledger.receive(sum([message.amount for message in messages]))
        new = self._are_new(messages)
        hosts = [self._admit(message, is_new=is_new) for message, is_new in zip(messages, new, strict=True)]
        self._grown([host for host in hosts if host is not None])

    def _admit(self, message: Message, *, is_new: bool) -> Host | None:
        """Gives the host of which a place in the queue has changed."""
        if is_new:
            return self._insert(message)
        link = message.link
        self._follow_message(message)
        self._link_credit.owe(None, {link.key: link}, message.tenth or 0)
        return self._states.prefer(link.key, link.priority) if link.priority else None

    def _follow_message(self, message: Message) -> None:
        if not message.flags & Flag.REQUISITE:
            self._follow([message.link], (), depth=message.depth, referrer=message.referrer)

    def _insert(self, message: Message) -> Host:
        link, flags = message.link, message.flags
        if message.request is not None:
            self._states.put_request(link.key, message.request)
            flags |= Flag.REQUEST
        return self._states.insert(
            link,
            depth=message.depth,
            referrer=message.referrer,
            flags=flags,
            credit=self._link_credit.ledger.make(message.credit),
            tenth=message.tenth,
        )

    def _are_new(self, messages: Sequence[Message]) -> list[bool]:
        """Which URLs were not seen before; of several messages about one the first is new. What is to pass the filter
        always is, under a key that nothing else has.
        """
        seen = iter(self._seen.add_many([one.link.key for one in messages if not one.flags & Flag.UNFILTERED]))
        return [bool(one.flags & Flag.UNFILTERED) or next(seen) for one in messages]

    def _unseen(self, found: Sequence[Link]) -> list[Link]:
        return [f for f, is_new in zip(found, self._seen.add_many([f.key for f in found]), strict=True) if is_new]

    def _is_too_deep(self, depth: int) -> bool:
        return 0 < self._terms.crawl.max_depth < depth

    def _near(self, found: Sequence[Link], depth: int) -> Sequence[Link]:
        """Those of `found` that may be at `depth`."""
        if self._terms.sheets:
            of = self._terms.of
            return [link for link in found if not 0 < of(link.host).max_depth < depth]
        return () if self._is_too_deep(depth) else found

    def _split(self, found: Sequence[Link]) -> tuple[Sequence[Link], Sequence[Link]]:
        """Those that are here, and those elsewhere."""
        return (found, ()) if self._outbox is None else self._outbox.split(found)

    def _copy(self, messages: Iterable[Message]) -> None:
        if self._outbox is not None:
            for message in messages:
                self._outbox.copy(message)

    def _send(self, messages: Sequence[Message]) -> None:
        if messages:
            assert self._outbox is not None
            self._link_credit.ledger.send(sum([message.amount for message in messages]))
            self._outbox.add(messages)


def _first_of_each(found: Sequence[Link], *, but: bytes) -> dict[bytes, Link]:
    """The links in their order, each URL once, where it stands first."""
    links = {link.key: link for link in found}
    if len(links) < len(found):  # where it stands last, of a URL that is there again
        for link in reversed(found):
            links[link.key] = link
    links.pop(but, None)
    return links
