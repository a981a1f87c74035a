-- A worker begins: in the run of the crawl that is under way, or with a new one.
--
-- A run lasts as long as any of its workers is believed alive. Its limit of pages is that of the worker that began it.
-- It counts over all runs: if it has changed, it gets a new account.
--
-- ARGV: session, ms, limits (as this worker has them, in words), max_pages. Returns the limits of the run, the account
-- of its max_pages, until when another worker is believed alive (Unix ms; 0 if none is), and max_pages as it is now.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local session, ms, wanted, max_pages = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
local run, workers = KEYS[1] .. 'run', KEYS[1] .. 'workers'
local alive = 0
for _, name in ipairs(redis.call('ZRANGEBYSCORE', workers, now, '+inf')) do
  if name ~= session then alive = math.max(alive, tonumber(redis.call('ZSCORE', workers, name))) end
end
local goes_on = tonumber(redis.call('ZSCORE', workers, session) or '0') >= now  -- it was killed a moment ago
local limits, held, account = unpack(redis.call('HMGET', run, 'limits', 'max_pages', 'account'))
held, account = tonumber(held or '0'), tonumber(account or '0')
if not limits or (alive == 0 and (limits ~= wanted or not goes_on)) then
  if held ~= max_pages then
    held, account = max_pages, account + 1
  end
  limits = wanted
  redis.call('DEL', run)
  redis.call('HSET', run, 'limits', limits, 'max_pages', held, 'account', account)
end
if limits == wanted then redis.call('ZADD', workers, now + ms, session) end
return {limits, account, string.format('%.0f', alive), held}
