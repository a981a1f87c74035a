-- Another limit of pages holds from here on, of which the first account of all shards is taken.
--
-- args: session, ms, account (its number, above the last), limited (0: there is none), grant (nil, or, on shard 0: what
-- this shard may lend, which it then carries to the others), channel, shard. Returns the shard, and granted = the last
-- account of which this shard was given the grant.
--
-- What is lent under the old account is lent no more: so as long as nothing is granted, no shard's count of what has been
-- fetched can change, and who adds them up gets the same sum as anyone else who does.

if S.account < args.account then
  for _, token in ipairs(redis.call('ZRANGE', base .. 'leases', 0, -1)) do end_lease(token) end
  S.account, S.limited, S.budget = args.account, args.limited, 0
  S.version = S.version + 1
end
if args.grant and args.account == S.account and S.granted < args.account then
  S.budget, S.granted = S.budget + args.grant, args.account
  S.version = S.version + 1
end
return cmsgpack.pack({granted = S.granted, shard = finish()})
