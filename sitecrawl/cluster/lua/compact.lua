-- A part of a snapshot that takes the place of the log. ARGV: token, session, how many entries there are at the last
-- part and 0 before, the data. Returns 'fenced' or 'done'.
local base, entries = KEYS[1], tonumber(ARGV[3])
if redis.call('GET', base .. 'lease') ~= ARGV[1] .. ':' .. ARGV[2] then return 'fenced' end
redis.call('RPUSH', base .. 'snapshot', ARGV[4])
if entries > 0 then
  redis.call('LTRIM', base .. 'log', entries, -1)
  for _, data in ipairs(redis.call('LRANGE', base .. 'log', 0, -1)) do
    redis.call('RPUSH', base .. 'snapshot', data)
  end
  redis.call('RENAME', base .. 'snapshot', base .. 'log')
end
return 'done'
