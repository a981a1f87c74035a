-- Bundles of messages for the partition, from one sender. ARGV: who sends, then numbers and bundles, in their order.
-- What came before counts once: so a bundle is never behind one that came in another step and has a greater number.
local base, from = KEYS[1], ARGV[1]
local last = tonumber(redis.call('HGET', base .. 'senders', from) or '0')
if tonumber(ARGV[#ARGV - 1]) <= last then return 0 end
redis.call('HSET', base .. 'senders', from, ARGV[#ARGV - 1])
local arrived = 0
for i = 2, #ARGV, 2 do
  if tonumber(ARGV[i]) > last then
    redis.call('RPUSH', base .. 'inbox', ARGV[i + 1])
    arrived = arrived + 1
  end
end
return redis.call('HINCRBY', base .. 'state', 'arrived', arrived)
