-- A worker begins: in the run of the crawl that is under way, or with a new one.
--
-- A run lasts as long as any of its workers is believed alive. Its limits are those of the worker that began it. They
-- count anew in each run, but for `max_pages`, which counts over all: if that has changed, it gets a new account. What
-- it was changed to by hand holds for as long as the settings say what they said then.
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
local limits, said, in_force, account, changed_at, changed =
  unpack(redis.call('HMGET', run, 'limits', 'said', 'max_pages', 'account', 'changed_at', 'changed'))
account = tonumber(account or '0')
if not limits or (alive == 0 and (limits ~= wanted or not goes_on)) then
  if not in_force or tonumber(said or '-1') ~= max_pages then
    if tonumber(in_force or '0') ~= max_pages then account = account + 1 end
    in_force = max_pages
  end
  limits = wanted
  redis.call('DEL', run, KEYS[1] .. 'tallies')
  local begun = string.format('%.0f', now)
  redis.call('HSET', run, 'limits', limits, 'said', max_pages, 'max_pages', in_force, 'account', account, 'begun', begun)
  if changed then redis.call('HSET', run, 'changed_at', changed_at, 'changed', changed) end
end
if limits == wanted then redis.call('ZADD', workers, now + ms, session) end
return {limits, account, string.format('%.0f', alive), tonumber(in_force or '0')}
