-- A worker works on: it is alive for so long, unless it rests. ARGV: session, ms (0 while it rests).
-- Returns the account of the run's limit of pages, and the names of all that are alive.
local now = redis.call('TIME')
local ms = now[1] * 1000 + math.floor(now[2] / 1000)
local workers = KEYS[1] .. 'workers'
redis.call('ZREM', workers, ARGV[1])
if tonumber(ARGV[2]) > 0 then redis.call('ZADD', workers, ms + ARGV[2], ARGV[1]) end
redis.call('ZREMRANGEBYSCORE', workers, '-inf', ms)
return {tonumber(redis.call('HGET', KEYS[1] .. 'run', 'account') or '0'), redis.call('ZRANGE', workers, 0, -1)}
