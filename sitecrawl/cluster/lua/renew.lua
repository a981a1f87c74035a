-- A worker lives: its leases and its session last on. Returns the tokens that are over, and what has arrived goes.
--
-- args: session, ms, tokens, arrived (fields of the outbox that have reached their shards), owner (whose outbox it is,
-- if that worker is dead), starting (1 while the worker's spider has not yet said what it begins with, 0 from then on), channel, shard.

local over = {}
for _, token in ipairs(args.tokens) do
  if redis.call('HGET', lease_key(token), 's') == args.session then
    redis.call('ZADD', base .. 'leases', 'XX', plain(now + args.ms), token)
  else
    over[#over + 1] = token
  end
end
redis.call('ZADD', base .. 'sessions', plain(now + args.ms), args.session)
if args.starting == 1 then redis.call('ZADD', base .. 'starting', plain(now + args.ms), args.session) end
local has_begun = args.starting == 0 and redis.call('ZREM', base .. 'starting', args.session) == 1
if has_begun then S.version = S.version + 1 end
local outbox = base .. 'out:' .. (args.owner or args.session)
for _, field in ipairs(args.arrived) do S.outbox = S.outbox - redis.call('HDEL', outbox, field) end
if #args.arrived > 0 then S.version = S.version + 1 end
if redis.call('EXISTS', outbox) == 0 then redis.call('SREM', base .. 'outs', args.owner or args.session) end
local shard = finish()
if (has_begun or #args.arrived > 0) and may_have_ended(shard) and shard.outbox == 0 then
  redis.call('PUBLISH', args.channel, args.shard)  -- the crawl may be at its end
end
return cmsgpack.pack({over = over, shard = shard})
