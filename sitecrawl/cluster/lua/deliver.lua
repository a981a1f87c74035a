-- A bundle of messages for the partition. ARGV: who sends, its number there, the bundle. What came before counts once.
local base, from, number = KEYS[1], ARGV[1], tonumber(ARGV[2])
if number <= tonumber(redis.call('HGET', base .. 'senders', from) or '0') then return 0 end
redis.call('HSET', base .. 'senders', from, number)
redis.call('HINCRBY', base .. 'state', 'arrived', 1)
return redis.call('RPUSH', base .. 'inbox', ARGV[3])
