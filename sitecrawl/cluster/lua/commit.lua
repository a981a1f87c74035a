-- An entry for the partition's log, from who has it; and with it what it has heard, and what it tells others.
--
-- ARGV: token, session, ms, number (0 to renew the lease alone), data, tally, heard, number of bundles that have
-- arrived, their names, then names and bundles that go out. Returns 'fenced', 'gap' or the number of the last entry.
-- A Redis that is full refuses a step at its first write, and only there: so an entry is written before all else.
local base, at = KEYS[1], 9
if redis.call('GET', base .. 'lease') ~= ARGV[1] .. ':' .. ARGV[2] then return 'fenced' end
local last = tonumber(redis.call('HGET', base .. 'state', 'entry') or '0')
local number = tonumber(ARGV[4])
if number == last + 1 then redis.call('RPUSH', base .. 'log', ARGV[5]) end
redis.call('PEXPIRE', base .. 'lease', ARGV[3])
local gone = 0
for _ = 1, tonumber(ARGV[8]) do
  gone = gone + redis.call('HDEL', base .. 'outbox', ARGV[at])
  at = at + 1
end
if gone > 0 then redis.call('HINCRBY', base .. 'state', 'gone', gone) end
if number <= last then return last end
if number ~= last + 1 then return 'gap' end
redis.call('HINCRBY', base .. 'state', 'log', #ARGV[5])
redis.call('HSET', base .. 'state', 'entry', number, 'tally', ARGV[6])
redis.call('HSET', base .. 'tokens', ARGV[1], number)
if tonumber(ARGV[7]) > 0 then
  redis.call('LTRIM', base .. 'inbox', ARGV[7], -1)
  redis.call('HINCRBY', base .. 'state', 'heard', ARGV[7])
end
for i = at, #ARGV, 2 do
  redis.call('HSET', base .. 'outbox', ARGV[i], ARGV[i + 1])
  redis.call('HINCRBY', base .. 'state', 'sent', 1)
end
return number
