-- A worker begins: in the run of the crawl that is under way, or with a new one. On shard 0 alone.
--
-- A run lasts as long as any of its workers is believed alive. Its limits are those of the worker that began it. They
-- count anew in each run, but for `max_pages`, which counts over all: if that has changed, it gets a new account.
--
-- args: session, ms, limits (as this worker has them, in words), max_pages, shard. Returns {limits = those of the run,
-- account = of its max_pages, alive = until when another worker is believed alive, Unix ms; 0 if none is, shard = ...}.

local run, sessions = base .. 'run', base .. 'sessions'
local alive = 0
for _, session in ipairs(redis.call('ZRANGEBYSCORE', sessions, now, '+inf')) do
  if session ~= args.session then alive = math.max(alive, tonumber(redis.call('ZSCORE', sessions, session))) end
end
local function is_believed_alive()  -- it was killed a moment ago, and goes on
  return tonumber(redis.call('ZSCORE', sessions, args.session) or '0') >= now
end
local limits, max_pages, account = unpack(redis.call('HMGET', run, 'limits', 'max_pages', 'account'))
account = tonumber(account or '0')
if not limits or (alive == 0 and (limits ~= args.limits or not is_believed_alive())) then
  if tonumber(max_pages or '0') ~= args.max_pages then account = account + 1 end
  limits = args.limits
  redis.call('DEL', run, base .. 'tallies')
  redis.call('HSET', run, 'limits', limits, 'max_pages', args.max_pages, 'account', account, 'begun', plain(now))
end
if limits == args.limits then redis.call('ZADD', sessions, plain(now + args.ms), args.session) end
return cmsgpack.pack({limits = limits, account = account, alive = alive, shard = finish()})
