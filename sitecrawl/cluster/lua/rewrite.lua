-- A repair puts a snapshot in the place of all there was of a partition's log. ARGV: token, session, the number of the
-- newest entry from now on, its tally, the bytes of the snapshot. The bundles that are there are all that there are.
-- Returns 'fenced' or 'done'.
local base = KEYS[1]
if redis.call('GET', base .. 'lease') ~= ARGV[1] .. ':' .. ARGV[2] then return 'fenced' end
redis.call('RENAME', base .. 'parts', base .. 'snapshot')
redis.call('DEL', base .. 'log')
redis.call('HSET', base .. 'state', 'entry', ARGV[3], 'snapshot', ARGV[3], 'parts', ARGV[5], 'log', 0,
  'tally', ARGV[4], 'gone', 0, 'heard', 0,
  'sent', redis.call('HLEN', base .. 'outbox'), 'arrived', redis.call('LLEN', base .. 'inbox'))
redis.call('HSET', base .. 'tokens', ARGV[1], ARGV[3])
return 'done'
