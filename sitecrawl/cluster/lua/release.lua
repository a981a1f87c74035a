-- The partition is free, if it was this one's: at once, or when its hosts have rested. ARGV: token, session, ms of that.
local lease = KEYS[1] .. 'lease'
if redis.call('GET', lease) ~= ARGV[1] .. ':' .. ARGV[2] then return 0 end
if tonumber(ARGV[3]) <= 0 then return redis.call('DEL', lease) end
return redis.call('PEXPIRE', lease, ARGV[3])
