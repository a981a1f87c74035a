-- The partition is free, if it was this one's: at once, or when its hosts have rested. ARGV: token, session, ms of that.
-- Until then no token has it, so nothing that is on its way renews the lease; who had it may have it again.
local lease, state = KEYS[1] .. 'lease', KEYS[1] .. 'state'
if redis.call('HGET', state, 'held') == ARGV[1] then redis.call('HDEL', state, 'held') end
if redis.call('GET', lease) ~= ARGV[1] .. ':' .. ARGV[2] then return 0 end
if tonumber(ARGV[3]) <= 0 then return redis.call('DEL', lease) end
redis.call('SET', lease, '0:' .. ARGV[2], 'PX', ARGV[3])
return 1
