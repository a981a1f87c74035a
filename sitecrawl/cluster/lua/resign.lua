-- A worker gives back what it was lent and does not know of (any more): after a crash or a lost answer, and at its end.
--
-- args: session, ms, keep (the tokens that it does know), channel, shard. Returns the shard.

local idle = S.ready == 0
redis.call('ZADD', base .. 'sessions', plain(now + args.ms), args.session)  -- fails where nothing can be written
local kept = {}
for _, token in ipairs(args.keep) do kept[plain(token)] = true end
for _, token in ipairs(redis.call('ZRANGE', base .. 'leases', 0, -1)) do
  local key = lease_key(token)
  if not kept[token] and redis.call('HGET', key, 's') == args.session then
    local host = known_host(redis.call('HGET', key, 'h'))
    for _, field in ipairs(redis.call('HKEYS', key)) do
      if #field == 16 then put_back(tonumber(token), field, host) end
    end
    free_host(tonumber(token), host)
    forget_if_over(token)
    S.version = S.version + 1
  end
end
local shard = finish()
if idle and shard.ready > 0 then redis.call('PUBLISH', args.channel, args.shard) end
return cmsgpack.pack({shard = shard})
