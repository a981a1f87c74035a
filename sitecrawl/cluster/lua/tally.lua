-- What a worker has counted for the limits of the run (CLOSESPIDER_*), and whether the run has met one. On shard 0 alone.
--
-- args: session, stream (this start of the worker), counts (so far in this start: items, pages, errors), bare (pages
-- since its last item), limits (name -> number; milliseconds for those of time), channel, shard. Returns {met = the name
-- of the limit, or '', left = to each limit, by name, shard = ...}. A tally that is told again counts once.

local run, tallies = base .. 'run', base .. 'tallies'
local before = redis.call('HGET', tallies, args.stream)
before = before and cmsgpack.unpack(before) or {0, 0, 0}
redis.call('HSET', tallies, args.stream, cmsgpack.pack(args.counts))
local grown, sums = {}, {}
for i, name in ipairs({'itemcount', 'pagecount', 'errorcount'}) do
  grown[i] = args.counts[i] - before[i]
  sums[name] = redis.call('HINCRBY', run, name, grown[i])
end
if grown[1] > 0 then
  redis.call('HSET', run, 'item_at', plain(now), 'pagecount_no_item', args.bare)
  sums.pagecount_no_item = args.bare
else
  sums.pagecount_no_item = redis.call('HINCRBY', run, 'pagecount_no_item', grown[2])
end
local begun = tonumber(redis.call('HGET', run, 'begun') or now)
sums.timeout = now - begun
sums.timeout_no_item = now - tonumber(redis.call('HGET', run, 'item_at') or begun)

local met, left = redis.call('HGET', run, 'met') or '', {}
for _, name in ipairs({'errorcount', 'pagecount', 'pagecount_no_item', 'itemcount', 'timeout', 'timeout_no_item'}) do
  if args.limits[name] then
    left[name] = args.limits[name] - sums[name]
    if left[name] <= 0 and met == '' then
      met = name
      redis.call('HSET', run, 'met', name)
      redis.call('PUBLISH', args.channel, args.shard)
    end
  end
end
return cmsgpack.pack({met = met, left = left, shard = finish()})
