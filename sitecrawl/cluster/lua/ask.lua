-- A worker asks all others, who hear it with their next word (watch.lua), and answer (answer.lua).
--
-- ARGV: question, stands (ms for which it does), most (questions that stand at a time). Returns 0 if there are too many.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function plain(number) return string.format('%.0f', number) end
local asked, since = KEYS[1] .. 'asked', plain(now - ARGV[2])
if redis.call('ZCOUNT', asked, since, '+inf') >= tonumber(ARGV[3]) then return 0 end
redis.call('ZADD', asked, plain(now), ARGV[1])  -- first: a Redis that is full refuses it, and so all of the step
redis.call('ZREMRANGEBYSCORE', asked, '-inf', '(' .. since)
redis.call('PEXPIRE', asked, ARGV[2])
return 1
