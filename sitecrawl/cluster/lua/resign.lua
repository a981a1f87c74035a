-- A worker gives back what it was lent and does not know of (any more): after a crash or a lost answer, and at its end.
--
-- args: session, ms, keep (the tokens that it does know), leaves (1: the worker will say nothing more), channel, shard.
-- Returns the shard.

local idle = not may_lend(S)
if args.leaves == 1 then redis.call('ZREM', base .. 'sessions', args.session)
else redis.call('ZADD', base .. 'sessions', plain(now + args.ms), args.session) end  -- fails where nothing can be written
local kept = {}
for _, token in ipairs(args.keep) do kept[plain(token)] = true end
for _, token in ipairs(redis.call('ZRANGE', base .. 'leases', 0, -1)) do
  if not kept[token] and redis.call('HGET', lease_key(token), 's') == args.session then end_lease(token) end
end
local shard = finish()
if idle and may_lend(shard) then redis.call('PUBLISH', args.channel, args.shard) end
return cmsgpack.pack({shard = shard})
