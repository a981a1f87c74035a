-- What a worker has counted for the limits of the run (CLOSESPIDER_*), and whether the run has met one.
--
-- ARGV: stream (this start of the worker), items, pages, errors (so far in this start), bare (pages since its last
-- item), then names of limits and their values (milliseconds for those of time). Returns the name of the limit that is
-- met, or '', then names and how much is left to each. A tally that is told again counts once.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local run, tallies, stream, bare = KEYS[1] .. 'run', KEYS[1] .. 'tallies', ARGV[1], tonumber(ARGV[5])
local before = cjson.decode(redis.call('HGET', tallies, stream) or '[0,0,0]')
local counts = {tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])}
redis.call('HSET', tallies, stream, cjson.encode(counts))
local sums = {}
for i, name in ipairs({'itemcount', 'pagecount', 'errorcount'}) do
  sums[name] = redis.call('HINCRBY', run, name, counts[i] - before[i])
end
if counts[1] > before[1] then
  redis.call('HSET', run, 'item_at', string.format('%.0f', now), 'pagecount_no_item', bare)
  sums.pagecount_no_item = bare
else
  sums.pagecount_no_item = redis.call('HINCRBY', run, 'pagecount_no_item', counts[2] - before[2])
end
local begun = tonumber(redis.call('HGET', run, 'begun') or now)
sums.timeout = now - begun
sums.timeout_no_item = now - tonumber(redis.call('HGET', run, 'item_at') or begun)

local limits, left = {}, {}
for i = 6, #ARGV, 2 do limits[ARGV[i]] = tonumber(ARGV[i + 1]) end
local met = redis.call('HGET', run, 'met') or ''
for _, name in ipairs({'errorcount', 'pagecount', 'pagecount_no_item', 'itemcount', 'timeout', 'timeout_no_item'}) do
  if limits[name] then
    left[#left + 1] = name
    left[#left + 1] = string.format('%.0f', limits[name] - sums[name])
    if limits[name] <= sums[name] and met == '' then
      met = name
      redis.call('HSET', run, 'met', name)
    end
  end
end
return {met, unpack(left)}
