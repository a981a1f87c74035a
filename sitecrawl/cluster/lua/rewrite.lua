-- A repair puts a snapshot in the place of all there was of a partition's log. ARGV: token, session, the number of the
-- newest entry from now on, its tally. The bundles that are there are all that there are. Returns 'fenced' or 'done'.
local base = KEYS[1]
if redis.call('GET', base .. 'lease') ~= ARGV[1] .. ':' .. ARGV[2] then return 'fenced' end
redis.call('RENAME', base .. 'snapshot', base .. 'log')
redis.call('HSET', base .. 'state', 'entry', ARGV[3], 'tally', ARGV[4], 'gone', 0, 'heard', 0,
  'sent', redis.call('HLEN', base .. 'outbox'), 'arrived', redis.call('LLEN', base .. 'inbox'))
redis.call('HSET', base .. 'tokens', ARGV[1], ARGV[3])
redis.call('HINCRBY', base .. 'state', 'snapshots', 1)
return 'done'
