-- What every step on a shard begins with: its clock, its state, its records. docs/design/cluster.md draws the keys.
--
-- KEYS[1]  the shard's base, "sitecrawl:{CRAWL.N}:"; every other key is that and a suffix, so all of them are in the
--          one hash slot that the tag in braces names.
-- ARGV[1]  the step's arguments, MessagePack.
-- C        what Python says of order and judge: sitecrawl.cluster.lua_constants.
--
-- Each step reads what it needs once, changes it in Lua tables, and writes it back in `finish`: a record is packed
-- and unpacked once a call however often it is touched. Credit is counted in whole units below 2^52, which doubles
-- hold exactly.

if redis.replicate_commands then redis.replicate_commands() end  -- before Redis 7: needed by whoever asks for the time

local base = KEYS[1]
local args = cmsgpack.unpack(ARGV[1])
if redis.call('HEXISTS', base .. 'crawl', 'repair') == 1 and not args.repair then
  return redis.error_reply('REPAIR the crawl is being repaired: if that was killed, `scrapy check-crawl --repair` ends it')
end
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)  -- Unix milliseconds

local PRIORITY = 281474976710656      -- 2^48: one step of priority, in a queue's scores
local CLASS = 1099511627776           -- 2^40: one class of credit
local PREFERRED = 1e24                -- one step of priority, in preferences: more than all credit

-- A waiting URL's record. Leased URLs keep it, with the lease's token.
local URL, SECTION, DEPTH, REFERRER, CREDIT, MARK, HISTORY, SERIAL, PRIO, FLAGS, ATTEMPTS, REQUEST, TOKEN, SCORE =
  1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14

-- Shard state: one hash of numbers.

local S = {}
local state_read = {}
do
  local flat = redis.call('HGETALL', base .. 'state')
  for i = 1, #flat, 2 do S[flat[i]] = tonumber(flat[i + 1]); state_read[flat[i]] = S[flat[i]] end
  setmetatable(S, {__index = function() return 0 end})
end

local function plain(number)
  if number == math.floor(number) then return string.format('%.0f', number) end
  return string.format('%.17g', number)
end

-- The crawl's limit of pages, as this shard's part of it: `budget`, how many more URLs may be lent here. Lending one takes
-- one, and whatever comes of it but a fetched page gives it back; `budget.lua` carries it between shards. So budgets,
-- what is lent, what is fetched, and what the outboxes hold of budgets add up to the limit. `account`: which limit that
-- is; another one has another number, and begins with `account.lua`. `limited`: 0 where there is no limit. What is
-- lent is counted then, too.

local function may_lend(shard) return shard.ready > 0 and (S.limited == 0 or S.budget > 0) end

-- Records that this call has touched.

local hosts, sections, dirty_heads = {}, {}, {}

local function new_trap() return {novelty = 1, demoted = 0, since = 0, reason = 0, tried = 0, cost = 0, limit = 0} end

local function pack_trap(t) return {t.novelty, t.demoted, t.since, t.reason, t.tried, t.cost, t.limit} end

local function unpack_trap(t)
  return {novelty = t[1], demoted = t[2], since = t[3], reason = t[4], tried = t[5], cost = t[6], limit = t[7]}
end

local HOST = {'known', 'queued', 'fetched', 'good', 'sections', 'payees', 'dividend', 'mark', 'rest', 'token',
  'free_at', 'failures', 'crawl_delay', 'pace', 'dead'}
-- known: URLs ever queued. queued: not done. token: of the lease that holds the host, 0 for none. free_at: no request
-- before, in Unix ms. pace: milliseconds a fetch takes, pause included. crawl_delay: of robots.txt, in seconds.
local PART = {'known', 'own', 'fetched', 'good', 'queued', 'trap_like', 'recent', 'worth'}

local function load(kind, key, names)
  local packed = redis.call('HGET', base .. kind, key)
  if not packed then return nil end
  local values, record = cmsgpack.unpack(packed), {}
  for i, name in ipairs(names) do record[name] = values[i] end
  record.trap = unpack_trap(values[#names + 1])
  record.shape = values[#names + 2]
  return record
end

local function store(kind, key, record, names)
  local values = {}
  for i, name in ipairs(names) do values[i] = record[name] end
  values[#names + 1] = pack_trap(record.trap)
  values[#names + 2] = record.shape
  redis.call('HSET', base .. kind, key, cmsgpack.pack(values))
end

local function known_host(name)
  local host = hosts[name]
  if host == nil then
    host = load('hosts', name, HOST) or false
    if host then host.name = name end
    hosts[name] = host
  end
  return host
end

local function host_named(name)
  local host = known_host(name)
  if not host then
    host = {name = name, trap = new_trap()}
    for _, field in ipairs(HOST) do host[field] = 0 end
    hosts[name] = host
  end
  return host
end

local function section_of(host, id)
  local key = host.name .. '\0' .. id
  local section = sections[key]
  if section == nil then
    section = load('sections', key, PART) or false
    if section then section.key, section.id, section.host = key, id, host end
    sections[key] = section
  end
  return section
end

local function section_for(host, id, shape)
  local section = section_of(host, id)
  if section then return section end
  if host.sections >= C.MAX_SECTIONS then
    shape = shape:gsub('[^/?]+', '*')
    id = shape
    section = section_of(host, id)
    if section then return section end
  end
  host.sections = host.sections + 1
  section = {known = 0, own = 0, fetched = 0, good = 0, queued = 0, trap_like = 0, recent = 1, worth = 1,
    trap = new_trap(), shape = shape, key = host.name .. '\0' .. id, id = id, host = host}
  sections[section.key] = section
  return section
end

-- The ledger (sitecrawl.credit.ledger), with the lambda page's policy `hosts`.

local function settle_host(host)
  local amount = (S.dividend - host.mark) % C.WRAP + host.rest
  local share = math.floor(amount / host.payees)
  host.rest = amount - share * host.payees
  host.dividend = (host.dividend + share) % C.WRAP
  host.mark = S.dividend
end

local function dividend_of(host)
  if host.payees > 0 then settle_host(host) end
  return host.dividend
end

local function enter_ledger(url, host)
  if host.payees > 0 then settle_host(host) else S.payees = S.payees + 1; host.mark = S.dividend end
  host.payees = host.payees + 1
  url[MARK] = host.dividend
end

local function settle_url(url, host)
  local dividend = dividend_of(host)
  url[CREDIT] = url[CREDIT] + (dividend - url[MARK]) % C.WRAP
  url[MARK] = dividend
end

local function leave_ledger(url, host)
  settle_url(url, host)
  host.payees = host.payees - 1
  if host.payees == 0 then
    S.payees = S.payees - 1
    S.reserve = S.reserve + host.rest
    host.rest = 0
  end
end

local function pay()
  if S.payees == 0 then return end
  local share = math.floor(S.reserve / S.payees)
  S.dividend = (S.dividend + share) % C.WRAP
  S.reserve = S.reserve - share * S.payees
end

-- Order (sitecrawl.frontier.order): a queue's scores, and preferences between sections.

local order, max_depth = unpack(redis.call('HMGET', base .. 'crawl', 'order', 'max_depth'))
order = order or 'aopic'
local by_credit = order == 'aopic'

-- Levels. A depth limit is exact only if all of a level are done, on all shards, before any of the next is lent: else what
-- is found by a longer way first is taken for deeper than it is. So a URL below `S.level` waits behind all others of its
-- queue, under one score, and in base.."deep" by its depth, until a lease says that its level has come (lease.lua). What
-- a spider wants before any link waits for no level. Nothing is held back as a trap then: no level would ever end.

local keeps_levels = tonumber(max_depth or '0') > 0 and order ~= 'dfs'
local BELOW = -2 ^ 100

local function waits_for_level(url) return keeps_levels and url[DEPTH] > S.level and url[PRIO] <= 0 end

local function credit_class(credit)
  if credit <= 0 then return 0 end
  local part, exponent = math.frexp(credit)
  return 2 * (exponent - 1) + (part >= 0.70710678118654757 and 1 or 0) + 1
end

local function class_credit(class) return class > 0 and 2 ^ ((class - 1) / 2) or 0.5 end

local function place_of(url)
  if by_credit then return (credit_class(url[CREDIT]) + 1) * CLASS - url[SERIAL] % CLASS end
  if order == 'bfs' then return (16383 - math.min(url[DEPTH], 16383)) * 2 ^ 33 + 2 ^ 33 - url[SERIAL] % 2 ^ 33 end
  if order == 'dfs' then return url[SERIAL] % 2 ^ 46 end
  return math.floor(2 ^ 46 + math.atan(url[SCORE] or 0) * 2 ^ 44)  -- best
end

local function score_of(url) return waits_for_level(url) and BELOW or url[PRIO] * PRIORITY + place_of(url) end

local function class_of(score)
  return math.floor((score - math.floor(score / PRIORITY) * PRIORITY) / CLASS)
end

local function preference(score, worth)
  if not by_credit then return score end
  return math.floor(score / PRIORITY) * PREFERRED + class_credit(class_of(score)) * worth
end

-- Queues: base.."q:"..section, the greatest score first; base.."best:"..host, the sections by preference.

local function queue_of(section) return base .. 'q:' .. section.key end

local function touch(section) dirty_heads[section.key] = section end

local function write_head(section)
  local best = base .. 'best:' .. section.host.name
  if section.trap.demoted == 1 then redis.call('ZREM', best, section.id); return end
  local head = redis.call('ZREVRANGE', queue_of(section), 0, 0, 'WITHSCORES')
  if #head == 0 or tonumber(head[2]) == BELOW then
    redis.call('ZREM', best, section.id)
  else
    redis.call('ZADD', best, plain(preference(tonumber(head[2]), section.worth)), section.id)
  end
end

local function write_url(key, url) redis.call('HSET', base .. 'urls', key, cmsgpack.pack(url)) end

local function read_url(key)
  local packed = redis.call('HGET', base .. 'urls', key)
  return packed and cmsgpack.unpack(packed)
end

local function line_up(key, url, section)
  redis.call('ZADD', queue_of(section), plain(score_of(url)), key)
  if waits_for_level(url) then redis.call('ZADD', base .. 'deep', url[DEPTH], key) end
end

-- The URL begins to wait; `write_url` follows from here.
local function enqueue(key, url, host, section)
  url[TOKEN] = 0
  enter_ledger(url, host)
  line_up(key, url, section)
  S.waiting = S.waiting + 1
  write_url(key, url)
  touch(section)
end

-- The workbench: base.."ready" by preference, base.."rest" by the time at which a host's rest ends.

local function place(host)
  local name = host.name
  local best = host.token == 0 and host.dead == 0 and host.trap.demoted == 0
    and redis.call('ZREVRANGE', base .. 'best:' .. name, 0, 0, 'WITHSCORES') or {}
  if #best == 0 then
    redis.call('ZREM', base .. 'ready', name)
    redis.call('ZREM', base .. 'rest', name)
    return
  end
  if host.free_at > now then
    redis.call('ZREM', base .. 'ready', name)
    redis.call('ZADD', base .. 'rest', plain(host.free_at), name)
    return
  end
  local worth = tonumber(best[2])
  if by_credit then
    local level = math.floor(worth / PREFERRED + 0.5) * PREFERRED
    worth = level + (worth - level) / math.max(host.known, 1)
  end
  redis.call('ZREM', base .. 'rest', name)
  redis.call('ZADD', base .. 'ready', plain(worth), name)
end

-- Leases: base.."leases" by deadline; base.."l:"..token: `h` host, `s` session, `r` if the host is given back, and
-- for every URL not yet acknowledged the credit that it had: what the page will spend.

local function lease_key(token) return base .. 'l:' .. token end

local function forget_if_over(token)
  local key = lease_key(token)
  local left = redis.call('HLEN', key)
  if left == 3 and redis.call('HEXISTS', key, 'r') == 1 then
    redis.call('DEL', key)
    redis.call('ZREM', base .. 'leases', token)
  end
end

-- A leased URL waits again, with the credit it had.
local function put_back(token, key, host)
  local url = read_url(key)
  local credit = tonumber(redis.call('HGET', lease_key(token), key))
  redis.call('HDEL', lease_key(token), key)
  S.leased, S.budget = S.leased - 1, S.budget + 1
  S.lent = S.lent - credit
  url[CREDIT] = url[CREDIT] + credit
  enqueue(key, url, host, section_of(host, url[SECTION]))
end

local function free_host(token, host)
  redis.call('HSET', lease_key(token), 'r', 1)
  if host.token == token then host.token = 0 end
end

-- The lease is over, and all that is left of it waits again.
local function end_lease(token)
  local key = lease_key(token)
  local host = known_host(redis.call('HGET', key, 'h'))
  for _, field in ipairs(redis.call('HKEYS', key)) do
    if #field == 16 then put_back(tonumber(token), field, host) end
  end
  free_host(tonumber(token), host)
  forget_if_over(tonumber(token))
  S.version = S.version + 1
end

-- The outbox: what is for other shards, until the worker says that it has arrived.

local function send(stream, seq, target, blob)
  redis.call('HSET', base .. 'out:' .. args.session, stream .. ':' .. seq .. ':' .. target, blob)
  redis.call('SADD', base .. 'outs', args.session)
  S.outbox = S.outbox + 1
end

-- A part of what this shard holds, other than for its URLs: sent once under one number of a stream.
local function send_part(blob)
  local last = tonumber(redis.call('HGET', base .. 'streams', args.stream) or '0')
  if args.seq <= last then return false end
  send(args.stream, args.seq, args.target, cmsgpack.pack(blob))
  redis.call('HSET', base .. 'streams', args.stream, args.seq)
  redis.call('ZADD', base .. 'sessions', plain(now + args.ms), args.session)
  S.version = S.version + 1
  return cmsgpack.pack(blob)
end

-- Whether this was perhaps the last of the crawl, or of its level.
local function may_have_ended(shard)
  if shard.leased > 0 then return false end
  return (shard.ready == 0 and shard.rest < 0) or (S.limited == 1 and S.budget <= 0)
end

-- Everything that this call has touched goes down; returns what every caller wants to know of the shard.
local function finish()
  for _, section in pairs(dirty_heads) do write_head(section) end
  for key, section in pairs(sections) do if section then store('sections', key, section, PART) end end
  for name, host in pairs(hosts) do
    if host then store('hosts', name, host, HOST); place(host) end
  end
  S.ready = redis.call('ZCARD', base .. 'ready')
  local changed = {}
  for name, value in pairs(S) do
    if value ~= state_read[name] then changed[#changed + 1] = name; changed[#changed + 1] = plain(value) end
  end
  if #changed > 0 then redis.call('HSET', base .. 'state', unpack(changed)) end
  local rest = redis.call('ZRANGE', base .. 'rest', 0, 0, 'WITHSCORES')
  local deep = keeps_levels and redis.call('ZRANGE', base .. 'deep', 0, 0, 'WITHSCORES') or {}
  local first = S.ready > 0 and redis.call('ZREVRANGE', base .. 'ready', 0, 0, 'WITHSCORES') or {}
  return {
    ready = S.ready, rest = #rest > 0 and math.max(0, tonumber(rest[2]) - now) or -1,
    best = #first > 0 and tonumber(first[2]) or 0,
    waiting = S.waiting, leased = S.leased, fetched = S.fetched, failed = S.failed, excluded = S.excluded,
    known = S.known, silent = S.silent, version = S.version, outbox = S.outbox, reserve = S.reserve, payees = S.payees,
    starting = redis.call('ZCOUNT', base .. 'starting', now, '+inf'), demoted = S.demoted,
    budget = S.budget, account = S.account, level = S.level, deep = #deep > 0 and tonumber(deep[2]) or -1,
  }
end
