-- A worker says how it fares, and hears how the others do. The crawl itself is not touched.
--
-- ARGV: session, figures (JSON of this worker), read (1: return those of all), most (workers that are returned), forget
-- (ms after which a silent worker is no longer listed), wish ('', or what all workers are to do from now on), patience
-- (ms for which a wish outlives the last worker). Returns now, the wish, since when (Unix ms), and of each worker three
-- things: its name, how long ago it was heard, its figures.
--
-- told: hash, session -> figures. heard: zset, sessions by when. wish: hash, what and since when.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local session, figures, most, forget, wished, patience = ARGV[1], ARGV[2], ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local function plain(number) return string.format('%.0f', number) end
local told, heard, wish = KEYS[1] .. 'told', KEYS[1] .. 'heard', KEYS[1] .. 'wish'
for _, name in ipairs(redis.call('ZRANGEBYSCORE', heard, '-inf', plain(now - forget))) do
  redis.call('ZREM', heard, name)
  redis.call('HDEL', told, name)
end
redis.call('HSET', told, session, figures)
redis.call('ZADD', heard, plain(now), session)
redis.call('PEXPIRE', told, forget)
redis.call('PEXPIRE', heard, forget)
if wished ~= '' then redis.call('HSET', wish, 'what', wished, 'at', plain(now)) end
redis.call('PEXPIRE', wish, patience)

local what, at = unpack(redis.call('HMGET', wish, 'what', 'at'))
local answer = {plain(now), what or '', at or '0'}
if ARGV[3] == '1' then
  local found = redis.call('ZREVRANGE', heard, 0, most - 1, 'WITHSCORES')
  for i = 1, #found, 2 do
    answer[#answer + 1] = found[i]
    answer[#answer + 1] = plain(now - tonumber(found[i + 1]))
    answer[#answer + 1] = redis.call('HGET', told, found[i]) or ''
  end
end
return answer
