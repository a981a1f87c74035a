-- Where a URL stands when it is done: base.."done:"..bucket, a hash of fingerprint -> state, status, history (7 bytes).
-- A bucket holds few enough URLs that Redis keeps it as one packed list, of about 26 bytes a URL (hash-max-ziplist-
-- entries, 128 by default). A bucket that outgrows this becomes a hash table: larger, and just as right.

local buckets = tonumber(redis.call('HGET', base .. 'crawl', 'buckets') or '1024')

local function done_key(key)
  local a, b, c, d = key:byte(5, 8)
  return base .. 'done:' .. (((a * 256 + b) * 256 + c) * 256 + d) % buckets
end
