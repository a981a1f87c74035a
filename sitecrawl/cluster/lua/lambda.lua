-- The lambda page's share of this shard goes, in part, to another's: through the outbox, like any credit.
--
-- args: session, ms, stream, seq, target, amount (at most). Returns what was sent.

local amount = math.min(args.amount, S.reserve)
local last = tonumber(redis.call('HGET', base .. 'streams', args.stream) or '0')
if args.seq <= last then amount = 0 end
if amount > 0 then
  S.reserve, S.sent, S.outbox = S.reserve - amount, S.sent + amount, S.outbox + 1
  redis.call('HSET', base .. 'out:' .. args.session, args.stream .. ':' .. args.seq .. ':' .. args.target,
    cmsgpack.pack({links = {}, arrived = amount}))
  redis.call('SADD', base .. 'outs', args.session)
  redis.call('HSET', base .. 'streams', args.stream, args.seq)
  redis.call('ZADD', base .. 'sessions', plain(now + args.ms), args.session)
  S.version = S.version + 1
end
return cmsgpack.pack({sent = amount, shard = finish()})
