-- A worker says how it fares, and hears how the others do. The crawl itself is not touched.
--
-- args: session, figures (JSON of this worker), read (1: return those of all), most (workers that are returned),
-- forget (ms after which a silent worker is no longer listed), wish ('', or what all workers are to do from now on),
-- patience (ms for which a wish outlives the last worker), shard.
--
-- told: hash, session -> figures. heard: zset, sessions by when. wish: hash, what and since when (Unix ms).

local told, heard, wish = base .. 'told', base .. 'heard', base .. 'wish'
for _, session in ipairs(redis.call('ZRANGEBYSCORE', heard, '-inf', plain(now - args.forget))) do
  redis.call('ZREM', heard, session)
  redis.call('HDEL', told, session)
end
redis.call('HSET', told, args.session, args.figures)
redis.call('ZADD', heard, plain(now), args.session)
redis.call('PEXPIRE', told, args.forget)
redis.call('PEXPIRE', heard, args.forget)
if args.wish ~= '' then redis.call('HSET', wish, 'what', args.wish, 'at', plain(now)) end
redis.call('PEXPIRE', wish, args.patience)

local workers = {}
if args.read == 1 then
  local found = redis.call('ZREVRANGE', heard, 0, args.most - 1, 'WITHSCORES')
  for i = 1, #found, 2 do
    workers[#workers + 1] = {found[i], now - tonumber(found[i + 1]), redis.call('HGET', told, found[i]) or ''}
  end
end
local wished = redis.call('HMGET', wish, 'what', 'at')
return cmsgpack.pack({workers = workers, wish = wished[1] or '', at = tonumber(wished[2] or 0) or 0, now = now})
