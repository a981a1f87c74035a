-- The partition is free, if it was this one's. ARGV: token, session.
local lease = KEYS[1] .. 'lease'
if redis.call('GET', lease) == ARGV[1] .. ':' .. ARGV[2] then redis.call('DEL', lease) end
