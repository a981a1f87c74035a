-- A worker is alive. ARGV: session, ms. Returns the names of all that are.
local now = redis.call('TIME')
local ms = now[1] * 1000 + math.floor(now[2] / 1000)
local workers = KEYS[1] .. 'workers'
redis.call('ZADD', workers, ms + ARGV[2], ARGV[1])
redis.call('ZREMRANGEBYSCORE', workers, '-inf', ms)
return redis.call('ZRANGE', workers, 0, -1)
