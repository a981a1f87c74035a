"""The frontier: what is known of each URL, and which one is next.

A link comes in by `intake`. If the seen set does not know it, it gets a record and a rank and waits in a queue on
disk, that of its *section*: the URLs of one shape on one host (all of that: `urls`). When a fetch is due,
`dispatcher` chooses in three steps: a host whose turn it is and that may be asked now, an order whose turn it is on
that host, and the URL that this order puts first. Four orders take turns there (`portfolio`): breadth first,
credit alone (AOPIC), and two that go by what the sections gave so far. Each has a share that the others cannot take,
so no belief can make a crawl much worse than breadth first.

What comes of a fetch is told in two steps. `downloaded` frees the host, `done` ends the URL. Its section and host
learn from that (`urls.worth`), and `judge` looks whether a section grows without an end and gives nothing, or more
than its budget. Such a section is held back, tried again now and then, and set free if it has changed. URLs that
are other forms of known pages wait in sections of their own, by rules that are learnt and tested (`forms`).

Nothing is kept twice. Records, queues and figures are in one database, written at each checkpoint as one batch, and
read into memory only for hosts with something to do. A crash goes back to the last batch. The credit of links is
collected and spread at checkpoints, and between them after a fixed number of fetches (`urls.link_credit`).

`contract` says what every frontier has to do. `disk.DiskFrontier` is that of one process; a worker of many uses it
for the partitions that it has (`sitecrawl.cluster.shared_frontier`). `reader` reads a stored one, `by_hand` does what
an operator asks for, `left` says what a crawl that ended by itself has left, and `moving` packs a partition.

The figures behind the choices are in docs/design/order.md.
"""
