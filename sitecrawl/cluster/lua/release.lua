-- Hosts that a worker gives back, with what it has learnt of them, and URLs that it has not fetched.
--
-- args: channel, shard, hosts: {token, host, pause (ms), failures, crawl_delay (s), pace (ms), dead (0 lives, 1 never
-- answered, 2 has ceased to), keys (URLs that wait again)}, revival (ms until a host that has ceased is asked again).
-- A host whose token is not the one it is lent under now is left alone: the lease is over. Returns the shard.

local function fail_all(host)
  for _, id in ipairs(redis.call('ZRANGE', base .. 'best:' .. host.name, 0, -1)) do
    local section = section_of(host, id)
    for _, key in ipairs(redis.call('ZRANGE', queue_of(section), 0, 499)) do
      local url = read_url(key)
      -- An awaited URL is handed out, to fail at once: someone is to be told.
      if math.floor(url[FLAGS] / C.AWAITED) % 2 == 0 then
        end_waiting(host, section, key, url, C.FAILED, 0)
        S.failed = S.failed + 1
      end
    end
    touch(section)
    write_head(section)
  end
end

local idle = not may_lend(S)
for _, given in ipairs(args.hosts) do
  local token, name, pause, failures, crawl_delay, pace, dead, keys = unpack(given)
  local key = lease_key(token)
  if redis.call('HGET', key, 'h') == name then
    local host = known_host(name)
    for _, url in ipairs(keys) do
      if redis.call('HEXISTS', key, url) == 1 then put_back(token, url, host) end
    end
    if host.token == token then
      host.free_at, host.failures, host.crawl_delay = now + pause, failures, crawl_delay
      if pace > 0 then host.pace = host.pace > 0 and 0.5 * (host.pace + pace) or pace end
      if dead > 0 then
        for _, section in pairs(dirty_heads) do write_head(section) end
        if dead == 1 then
          fail_all(host)
          -- Millions may wait: they go by the thousand, each time the host is lent once more, and fails once more.
        else
          host.dead = 1
          S.silent = S.silent + host.queued
          redis.call('ZADD', base .. 'silent', plain(now + args.revival), name)
        end
      end
    end
    free_host(token, host)
    forget_if_over(token)
    S.version = S.version + 1
  end
end
local shard = finish()
if idle and may_lend(shard) then redis.call('PUBLISH', args.channel, args.shard) end
return cmsgpack.pack({shard = shard})
