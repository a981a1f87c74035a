-- A worker works on: it is alive for so long, unless it rests. ARGV: session, ms (0 while it rests), and where it knows
-- of a limit of pages, its partitions that it keeps from fetching, by their numbers.
-- Returns the account of the run's limit of pages, why the run has been ended by a worker ('' if it has not), the names
-- of all that are alive, the run's limits in words, as its settings say, its `max_pages` as it is now, and such
-- partitions of all that are alive.
local now = redis.call('TIME')
local ms = now[1] * 1000 + math.floor(now[2] / 1000)
local workers = KEYS[1] .. 'workers'
if tonumber(ARGV[2]) > 0 then
  redis.call('ZADD', workers, ms + ARGV[2], ARGV[1])  -- first: a Redis that is full refuses it, and so all of the step
else
  redis.call('ZREM', workers, ARGV[1])
end
redis.call('ZREMRANGEBYSCORE', workers, '-inf', ms)
local run = redis.call('HMGET', KEYS[1] .. 'run', 'account', 'ended', 'limits', 'max_pages')
local names = redis.call('ZRANGE', workers, 0, -1)
local short, found = KEYS[1] .. 'short', {}
if ARGV[3] then
  if ARGV[3] == '' then redis.call('HDEL', short, ARGV[1]) else redis.call('HSET', short, ARGV[1], ARGV[3]) end
  local told = redis.call('HGETALL', short)
  for i = 1, #told, 2 do
    if redis.call('ZSCORE', workers, told[i]) then
      found[#found + 1] = told[i + 1]
    else
      redis.call('HDEL', short, told[i])
    end
  end
end
local limit = {run[3] or '', tonumber(run[4] or '0'), table.concat(found, ' ')}
return {tonumber(run[1] or '0'), run[2] or '', names, unpack(limit)}
