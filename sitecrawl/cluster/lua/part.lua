-- A part of a snapshot, from who has the partition. ARGV: token, session, which part from 0 on, the data.
-- Returns 'fenced', 'lost' if a part before it is not there, or 'done'. A Redis that is full refuses a step at its first
-- write, and only there: so what takes memory comes before what gives it back.
local base, place, parts = KEYS[1], tonumber(ARGV[3]), KEYS[1] .. 'parts'
if redis.call('GET', base .. 'lease') ~= ARGV[1] .. ':' .. ARGV[2] then return 'fenced' end
local there = redis.call('LLEN', parts)
if there < place then return 'lost' end
if there == place or place == 0 then redis.call('RPUSH', parts, ARGV[4]) end
if place == 0 then redis.call('LTRIM', parts, -1, -1) end
return 'done'
