-- A worker asks all others, who hear it with their next word (watch.lua), and answer (answer.lua).
--
-- ARGV: question, stands (ms for which it does), most (questions that stand at a time). Returns 0 if there are too many.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local asked = KEYS[1] .. 'asked'
redis.call('ZREMRANGEBYSCORE', asked, '-inf', string.format('%.0f', now - ARGV[2]))
if redis.call('ZCARD', asked) >= tonumber(ARGV[3]) then return 0 end
redis.call('ZADD', asked, string.format('%.0f', now), ARGV[1])
redis.call('PEXPIRE', asked, ARGV[2])
return 1
