-- A worker answers a question. ARGV: its number, session, answer, ms for which answers are kept.
local answers = KEYS[1] .. 'answers:' .. ARGV[1]
redis.call('HSET', answers, ARGV[2], ARGV[3])
return redis.call('PEXPIRE', answers, ARGV[4])
