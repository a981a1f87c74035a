-- Where a URL stands when it is done: base.."done:"..bucket, a hash of fingerprint -> state, status, history (7 bytes).
-- A bucket holds few enough URLs that Redis keeps it as one packed list, of about 26 bytes a URL (hash-max-ziplist-
-- entries, 128 by default). A bucket that outgrows this becomes a hash table: larger, and just as right.

local buckets = tonumber(redis.call('HGET', base .. 'crawl', 'buckets') or '1024')

local function done_key(key)
  local a, b, c, d = key:byte(5, 8)
  return base .. 'done:' .. (((a * 256 + b) * 256 + c) * 256 + d) % buckets
end

-- A URL that waits does so no longer: it is done.
local function end_waiting(host, section, key, url, state, status)
  redis.call('ZREM', queue_of(section), key)
  if keeps_levels then redis.call('ZREM', base .. 'deep', key) end
  leave_ledger(url, host)
  S.reserve = S.reserve + url[CREDIT]
  S.waiting = S.waiting - 1
  host.queued, section.queued = host.queued - 1, section.queued - 1
  redis.call('HDEL', base .. 'urls', key)
  redis.call('HSET', done_key(key), key, struct.pack('>BHf', state, status, url[HISTORY]))
end
