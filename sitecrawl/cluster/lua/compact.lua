-- The parts of a snapshot take the place of the log up to an entry. ARGV: token, session, how many parts, their bytes,
-- the entry's number. Returns 'fenced', 'lost' if parts are not there, 'early' before that entry has come, or 'done'.
local base, state, number = KEYS[1], KEYS[1] .. 'state', tonumber(ARGV[5])
if redis.call('GET', base .. 'lease') ~= ARGV[1] .. ':' .. ARGV[2] then return 'fenced' end
if tonumber(redis.call('HGET', state, 'snapshot') or '0') >= number then return 'done' end
local later = tonumber(redis.call('HGET', state, 'entry') or '0') - number
if later < 0 then return 'early' end
if redis.call('LLEN', base .. 'parts') ~= tonumber(ARGV[3]) then return 'lost' end
if later == 0 then
  redis.call('DEL', base .. 'log')
else
  redis.call('LTRIM', base .. 'log', -later, -1)
end
redis.call('RENAME', base .. 'parts', base .. 'snapshot')
local bytes = 0
for _, data in ipairs(redis.call('LRANGE', base .. 'log', 0, -1)) do bytes = bytes + #data end
redis.call('HSET', state, 'snapshot', number, 'parts', ARGV[4], 'log', bytes)
return 'done'
