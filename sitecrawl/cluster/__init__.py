"""Many workers on one Redis, Valkey or Redis Cluster: see docs/design/cluster.md.

`shards` calls the steps (Lua files in `lua/`), `parcel` packs what is done, `journal` keeps it until Redis has it,
`leased_hosts` paces the hosts that are lent to this worker, `pump` moves everything between the two, and
`frontier` is what the scheduler sees: it answers like `sitecrawl.frontier.disk.DiskFrontier` and never waits.
"""
