-- The run's `max_pages` is changed by hand, and gets a new account; unless a later change came first.
--
-- ARGV: max_pages, when it was changed (Unix seconds), the number of the change, the account that the worker knows of
-- (a Redis that has forgotten something gives none twice).
local run = KEYS[1] .. 'run'
local before, account, at, number = unpack(redis.call('HMGET', run, 'max_pages', 'account', 'changed_at', 'changed'))
local new_at, last_at = tonumber(ARGV[2]), tonumber(at or '0')
if new_at < last_at or (new_at == last_at and ARGV[3] <= (number or '')) then return 0 end
account = math.max(tonumber(account or '0'), tonumber(ARGV[4]))
if tonumber(before or '0') ~= tonumber(ARGV[1]) then account = account + 1 end
redis.call('HSET', run, 'max_pages', ARGV[1], 'account', account, 'changed_at', ARGV[2], 'changed', ARGV[3])
return 1
