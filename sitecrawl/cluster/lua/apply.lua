-- Takes parcels: pages that are done and what they link to on this shard. Each parcel counts once.
--
-- args: session, ms (how long the session is known to live), parcels: {stream, seq, pages, links, out, sent, arrived}.
-- A stream's parcels come in order, so one whose number is not above the last is a repetition, and is skipped.
--   pages  {token, key, host, state, status, good, request, priority, flags, edges}; state 0 puts the URL back
--   links  {host, entries}; an entry is {key, credit} for a URL that the sender knows to be known, and else {key,
--          credit, url, depth, section, shape, trap_like, page, flags, priority, referrer, request, score}; `page` counts
--          from 1 in `pages`, 0 for none
--   out    target shard -> what is for it, kept in the outbox until the worker says that it has arrived
--   sent   the credit in `out`
--   blob   instead of all these: what another shard's outbox held: links, the credit that comes with them, a part of
--          the budget and the account that it is of
-- Returns {answers = {1 taken, 0 repeated, or the list of pages whose lease is over: nothing was taken, and
-- what came after was not looked at}, new =
-- URLs that were new, shard = ...}.

local function has(flags, bit) return math.floor(flags / bit) % 2 == 1 end

local new_urls = 0

local function reach(key, url, host, amount)
  url[HISTORY] = url[HISTORY] + amount
  S.spent = S.spent + amount
  if url[TOKEN] ~= 0 then  -- lent: what comes now is for the books alone
    url[CREDIT] = url[CREDIT] + amount
    return
  end
  local before = credit_class(url[CREDIT])
  settle_url(url, host)
  url[CREDIT] = url[CREDIT] + amount
  if by_credit and credit_class(url[CREDIT]) > before then
    local section = section_of(host, url[SECTION])
    redis.call('ZADD', queue_of(section), plain(score_of(url)), key)
    touch(section)
  end
end

-- A known URL gets credit, and one that is done passes it on to the lambda page.
local function credit_known(key, host, amount)
  local url = host and read_url(key)
  if url then
    if amount > 0 then reach(key, url, host, amount); write_url(key, url) end
    return true
  end
  local place = done_key(key)
  local packed = redis.call('HGET', place, key)
  if not packed then return false end
  if amount > 0 then
    local state, status, history = struct.unpack('>BHf', packed)
    redis.call('HSET', place, key, struct.pack('>BHf', state, status, history + amount))
    S.reserve, S.spent = S.reserve + amount, S.spent + amount
  end
  return true
end

local function add(key, entry, host, pages)
  local page = pages[entry[8] or 0]
  local section = section_for(host, entry[5], entry[6])
  local flags = entry[9] or 0
  local url = {entry[3], section.id, entry[4], entry[11] or '', entry[2], 0, entry[2], 0, entry[10] or 0, flags % C.BRINGS,
    0, entry[12] or '', 0, entry[13] or 0}
  S.serial, S.known = S.serial + 1, S.known + 1
  S.spent = S.spent + entry[2]
  url[SERIAL] = S.serial
  if has(flags, C.BRINGS) then
    local share = math.max(0, math.min(args.share, args.most_credit - S.total))
    url[CREDIT] = url[CREDIT] + share
    S.total = S.total + share
    redis.call('HINCRBY', base .. 'seedhosts', host.name, 1)
  end
  host.known, host.queued = host.known + 1, host.queued + 1
  section.known, section.queued = section.known + 1, section.queued + 1
  section.trap_like = section.trap_like + (entry[7] or 0)
  if page and page.host == host then
    page.news_host = page.news_host + 1
    if page.section == section.id then page.news_here = page.news_here + 1; section.own = section.own + 1 end
  end
  enqueue(key, url, host, section)
  new_urls = new_urls + 1
end

local function take_links(links, pages)
  local credited = 0
  for _, group in ipairs(links) do
    local host = known_host(group[1])
    for _, entry in ipairs(group[2]) do
      local key = entry[1]
      credited = credited + entry[2]
      if not credit_known(key, host, entry[2]) then
        if entry[3] then
          host = host or host_named(group[1])
          add(key, entry, host, pages)
        else  -- forgotten when it was done, as a request without filter is
          S.reserve = S.reserve + entry[2]
        end
      end
    end
  end
  return credited
end

-- One host links to others: base.."graph", in tenths of a page. Of pairs beyond the limit nothing is kept.
local function link_hosts(name, edges)
  for _, edge in ipairs(edges) do
    local field = name .. '\0' .. edge[1]
    if S.edges < args.most_edges then
      if redis.call('HINCRBY', base .. 'graph', field, edge[2]) == edge[2] then S.edges = S.edges + 1 end
    elseif redis.call('HEXISTS', base .. 'graph', field) == 1 then
      redis.call('HINCRBY', base .. 'graph', field, edge[2])
    end
  end
end

local function stale_pages(pages)
  local stale = {}
  for number, page in ipairs(pages) do
    if redis.call('HEXISTS', lease_key(page[1]), page[2]) == 0 then stale[#stale + 1] = number end
  end
  return stale
end

local function end_page(page)
  local token, key, host = page.token, page.key, page.host
  local url = read_url(key)  -- only now: other pages of the parcel may have linked to it
  local section = section_of(host, url[SECTION])
  redis.call('HDEL', lease_key(token), key)
  redis.call('HDEL', base .. 'urls', key)
  S.leased = S.leased - 1
  if page.state ~= C.FETCHED then S.budget = S.budget + 1 end
  S.reserve = S.reserve + url[CREDIT]
  host.queued, section.queued = host.queued - 1, section.queued - 1
  local names = {[C.FETCHED] = 'fetched', [C.FAILED] = 'failed', [C.EXCLUDED] = 'excluded'}
  S[names[page.state]] = S[names[page.state]] + 1
  if page.state == C.FETCHED then host.fetched = host.fetched + 1 end
  if not has(url[FLAGS], C.UNFILTERED) then
    redis.call('HSET', done_key(key), key, struct.pack('>BHf', page.state, page.status, url[HISTORY]))
  else
    S.forgotten = S.forgotten + 1
  end
  if page.state ~= C.EXCLUDED then learn(host, section, page.good, page.news_here, page.news_host) end
  forget_if_over(token)
end

local function wait_again(page)
  local url, host = read_url(page.key), page.host
  redis.call('HDEL', lease_key(page.token), page.key)
  S.leased, S.budget = S.leased - 1, S.budget + 1
  url[CREDIT] = url[CREDIT] + page.credit
  url[ATTEMPTS], url[REQUEST], url[PRIO], url[FLAGS] = url[ATTEMPTS] + 1, page.request, page.priority, page.flags
  S.serial = S.serial + 1
  url[SERIAL] = S.serial
  enqueue(page.key, url, host, section_of(host, url[SECTION]))
  forget_if_over(page.token)
end

local function take(parcel)
  local last = tonumber(redis.call('HGET', base .. 'streams', parcel.stream) or '0')
  if parcel.seq <= last then return 0 end
  if parcel.blob then  -- from another shard's outbox
    local blob = cmsgpack.unpack(parcel.blob)
    parcel.links, parcel.arrived, parcel.pages, parcel.out, parcel.sent = blob.links, blob.arrived, {}, {}, 0
    if blob.account == S.account then S.budget = S.budget + (blob.budget or 0) end
  end
  local stale = stale_pages(parcel.pages)
  if #stale > 0 then return stale end
  local pages, lent = {}, parcel.arrived
  for number, p in ipairs(parcel.pages) do
    local url = read_url(p[2])
    local credit = tonumber(redis.call('HGET', lease_key(p[1]), p[2]))
    S.lent = S.lent - credit
    if p[4] ~= C.QUEUED then lent = lent + credit end
    pages[number] = {token = p[1], key = p[2], host = known_host(p[3]), state = p[4], status = p[5], good = p[6],
      request = p[7], priority = p[8], flags = p[9], section = url[SECTION], credit = credit,
      news_here = 0, news_host = 0}
    link_hosts(p[3], p[10])
  end
  local spent = take_links(parcel.links, pages) + parcel.sent
  if spent > lent then error('parcel ' .. parcel.stream .. ' spends more credit than its pages had') end
  S.reserve = S.reserve + lent - spent
  S.sent, S.arrived = S.sent + parcel.sent, S.arrived + parcel.arrived
  for _, page in ipairs(pages) do
    if page.state == C.QUEUED then wait_again(page) else end_page(page) end
  end
  for target, blob in pairs(parcel.out) do
    send(parcel.stream, parcel.seq, target, blob)
  end
  redis.call('HSET', base .. 'streams', parcel.stream, parcel.seq)
  S.version = S.version + 1
  return 1
end

local answers = {}
redis.call('ZADD', base .. 'sessions', plain(now + args.ms), args.session)
local idle = not may_lend(S)
for number, parcel in ipairs(args.parcels) do
  answers[number] = take(parcel)
  if type(answers[number]) == 'table' then break end  -- a later one of its stream would make it look taken
end
local shard = finish()
if (idle and may_lend(shard)) or may_have_ended(shard) then
  redis.call('PUBLISH', args.channel, args.shard)
end
return cmsgpack.pack({answers = answers, new = new_urls, shard = shard})
