-- Lends a worker the best URLs of the best hosts that politeness allows now, each host under one token.
--
-- args: session, ms (the leases' length), want (URLs), hosts (at most so many), span (milliseconds for which a host
-- is lent, about), account (the limit that the worker knows of: under another one nothing is lent), level (of which, on all
-- shards, all above are done; the crawl's, where it goes level by level). Returns {leases =
-- {{token, host, failures, crawl_delay, fetched, queued, urls}, ...}, orphans = sessions that are dead and left
-- something in their outbox, settled = 1 if nothing is lent or on its way from here, ends = 1 if then nothing is left to
-- do here, either, shard = ...}.

math.randomseed(clock[2])

local function return_expired()
  for _, token in ipairs(redis.call('ZRANGEBYSCORE', base .. 'leases', '-inf', now, 'LIMIT', 0, 16)) do
    end_lease(token)
    S.expired = S.expired + 1
  end
end

local AT_ONCE = 500  -- URLs whose level has come

local function open_level()
  if args.level > S.level then S.level, S.version = args.level, S.version + 1 end
  for _, key in ipairs(redis.call('ZRANGEBYSCORE', base .. 'deep', '-inf', S.level, 'LIMIT', 0, AT_ONCE)) do
    local url = read_url(key)
    local section = section_of(known_host(url[URL]:match('://([^/]*)')), url[SECTION])
    redis.call('ZREM', base .. 'deep', key)
    redis.call('ZADD', queue_of(section), plain(score_of(url)), key)
    touch(section)
    S.version = S.version + 1
  end
end

local function wake()
  for _, name in ipairs(redis.call('ZRANGEBYSCORE', base .. 'rest', '-inf', now, 'LIMIT', 0, 256)) do
    place(known_host(name))
  end
  for _, name in ipairs(redis.call('ZRANGEBYSCORE', base .. 'silent', '-inf', now, 'LIMIT', 0, 16)) do
    local host = known_host(name)
    host.dead, host.failures = 0, math.max(0, host.failures - 1)
    redis.call('ZREM', base .. 'silent', name)
    S.silent = S.silent - host.queued
    place(host)
  end
end

local function lend(token, host, key, section)
  local url = read_url(key)
  redis.call('ZREM', queue_of(section), key)
  leave_ledger(url, host)
  S.waiting, S.leased, S.lent = S.waiting - 1, S.leased + 1, S.lent + url[CREDIT]
  S.budget = S.budget - 1
  redis.call('HSET', lease_key(token), key, plain(url[CREDIT]))
  local lent = {key, url[URL], url[DEPTH], url[REFERRER], url[CREDIT], url[FLAGS], url[ATTEMPTS], url[REQUEST]}
  url[CREDIT], url[TOKEN] = 0, token
  write_url(key, url)
  return lent
end

local leases = {}

local function open(host)
  S.token = math.max(S.token + 1, now)  -- so none comes twice when a replica has taken over that is behind
  local token = S.token
  host.token = token
  redis.call('HSET', lease_key(token), 'h', host.name, 's', args.session)
  redis.call('ZADD', base .. 'leases', plain(now + args.ms), token)
  local lease = {token, host.name, host.failures, host.crawl_delay, host.fetched, host.queued, {}}
  leases[#leases + 1] = lease
  return token, lease[7]
end

local function lease_host(host, want)
  local token, urls = open(host)
  while #urls < want do
    local id = redis.call('ZREVRANGE', base .. 'best:' .. host.name, 0, 0)[1]
    if not id then break end
    local section = section_of(host, id)
    local head = redis.call('ZREVRANGE', queue_of(section), 0, 0, 'WITHSCORES')
    if by_credit and S.reserve > class_credit(class_of(tonumber(head[2]))) then pay() end
    urls[#urls + 1] = lend(token, host, head[1], section)
    write_head(section)
  end
end

local function probe(last)
  local unit = unit_to_probe(last, false)
  if not unit then return false end
  local key, section = sample(unit[1], unit[2])
  if not key then return false end
  local token, urls = open(unit[1])
  urls[1] = lend(token, unit[1], key, section)
  write_head(section)
  place(unit[1])
  return true
end

return_expired()
if keeps_levels then open_level() end
for _, section in pairs(dirty_heads) do write_head(section) end
for _, host in pairs(hosts) do place(host) end
wake()
local left, served = args.want, 0
if args.account ~= S.account then left = 0 elseif S.limited == 1 then left = math.min(left, S.budget) end
while left > 0 and served < args.hosts do
  if S.demoted > 0 and by_credit and S.cost < J.probes * S.fetches and probe(false) then
    left, served = left - 1, served + 1
  end
  local name = left > 0 and redis.call('ZREVRANGE', base .. 'ready', 0, 0)[1]
  if not name then break end
  local host = known_host(name)
  -- A host whose pace is not known yet is lent for two fetches.
  local share = host.pace > 0 and math.ceil(args.span / host.pace) or 2
  lease_host(host, math.max(1, math.min(share, left, args.most)))
  redis.call('ZREM', base .. 'ready', name)
  left, served = left - #leases[#leases][7], served + 1
end
local nothing = redis.call('ZCARD', base .. 'ready') == 0 and redis.call('ZCARD', base .. 'rest') == 0
if served == 0 and nothing and S.demoted > 0 and left > 0 then
  while served < args.hosts and left > 0 and probe(true) do left, served = left - 1, served + 1 end
end

local orphans = {}
for _, session in ipairs(redis.call('SMEMBERS', base .. 'outs')) do
  local deadline = redis.call('ZSCORE', base .. 'sessions', session)
  if session ~= args.session and (not deadline or tonumber(deadline) < now) then orphans[#orphans + 1] = session end
end
if served > 0 then S.version = S.version + 1 end
local shard = finish()
local settled = shard.leased == 0 and shard.outbox == 0 and shard.starting == 0
local opens = shard.deep >= 0 and shard.deep <= S.level
local ends = settled and not opens and shard.ready == 0 and shard.rest < 0
  and not (shard.demoted > 0 and unit_to_probe(true, true))
local first = redis.call('ZRANGE', base .. 'leases', 0, 0, 'WITHSCORES')
shard.expires = #first > 0 and math.max(0, tonumber(first[2]) - now) or -1
return cmsgpack.pack({leases = leases, orphans = orphans, settled = settled and 1 or 0, ends = ends and 1 or 0,
  shard = shard})
