-- An entry for the partition's log, from who has it; and with it what it has heard, and what it tells others.
-- A lease that is over, with nobody who has had the partition since, begins again: Redis may have stood still.
--
-- ARGV: token, session, ms, number (0 to renew the lease alone), data, tally, how many bundles of the inbox it has
-- heard, SHA-1 of these, number of bundles that have arrived, their names, then names and bundles that go out. Returns
-- 'fenced', 'gap' or the number of the last entry. A replica that has taken over may not have got a bundle that was
-- heard, and another one in its place: that is a gap, too.
-- A Redis that is full refuses a step at its first write, and only there: so an entry is written before all else.
local base, at = KEYS[1], 10
local mine, lease = ARGV[1] .. ':' .. ARGV[2], redis.call('GET', base .. 'lease')
if (lease or mine) ~= mine then return 'fenced' end
if not lease and redis.call('HGET', base .. 'state', 'held') ~= ARGV[1] then return 'fenced' end
local last = tonumber(redis.call('HGET', base .. 'state', 'entry') or '0')
local number = tonumber(ARGV[4])
local heard = tonumber(ARGV[7])
if number == last + 1 then
  local bundles = heard > 0 and redis.call('LRANGE', base .. 'inbox', 0, heard - 1) or {}
  if heard > 0 and redis.sha1hex(table.concat(bundles)) ~= ARGV[8] then return 'gap' end
  redis.call('RPUSH', base .. 'log', ARGV[5])
end
if lease then
  redis.call('PEXPIRE', base .. 'lease', ARGV[3])
else
  redis.call('SET', base .. 'lease', mine, 'PX', ARGV[3])
end
local gone = 0
for _ = 1, tonumber(ARGV[9]) do
  gone = gone + redis.call('HDEL', base .. 'outbox', ARGV[at])
  at = at + 1
end
if gone > 0 then redis.call('HINCRBY', base .. 'state', 'gone', gone) end
if number <= last then return last end
if number ~= last + 1 then return 'gap' end
redis.call('HINCRBY', base .. 'state', 'log', #ARGV[5])
redis.call('HSET', base .. 'state', 'entry', number, 'tally', ARGV[6])
redis.call('HSET', base .. 'tokens', ARGV[1], number)
if heard > 0 then
  redis.call('LTRIM', base .. 'inbox', heard, -1)
  redis.call('HINCRBY', base .. 'state', 'heard', heard)
end
for i = at, #ARGV, 2 do
  redis.call('HSET', base .. 'outbox', ARGV[i], ARGV[i + 1])
  redis.call('HINCRBY', base .. 'state', 'sent', 1)
end
return number
