-- Lend the partition to a worker, if nobody has it.
--
-- ARGV: session, ms, the last token it had (0 for none). Returns the new token and 1 if nobody had the partition since
-- that one, or nothing. A token is given once, so that whoever had an older one is told that it is over: also by a
-- replica that takes over and is behind, for tokens grow with the time. What came with that last token counts as come
-- with the new one. A snapshot that its last worker did not end goes.
local base, session, ms, last = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3])
local held = redis.call('GET', base .. 'lease')
if held and string.sub(held, string.find(held, ':') + 1) ~= session then return false end
local time = redis.call('TIME')
local before = tonumber(redis.call('GET', base .. 'token') or '0')
local token = string.format('%.0f', math.max(before + 1, time[1] * 1000 + math.floor(time[2] / 1000)))
redis.call('SET', base .. 'token', token)
local accepted = before == last and redis.call('HGET', base .. 'tokens', last)
if accepted then redis.call('HSET', base .. 'tokens', token, accepted) end
redis.call('DEL', base .. 'parts')
redis.call('SET', base .. 'lease', token .. ':' .. session, 'PX', ms)
redis.call('HSET', base .. 'state', 'lent', 1, 'held', token)
return {token, before == last and 1 or 0}
