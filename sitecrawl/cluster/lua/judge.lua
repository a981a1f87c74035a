-- Which sections and hosts are held back as traps: sitecrawl.frontier.trap_judge, shard by shard.
--
-- It differs from a crawl in one process in this: fetches, probes and their allowance are counted within the shard,
-- and a host's trust is as old as the last round in which a worker reckoned it (base.."trust").

local J = C.traps

local holds = by_credit and not keeps_levels and redis.call('HGET', base .. 'crawl', 'hold') ~= '0'

local function trust_of(name) return tonumber(redis.call('HGET', base .. 'trust', name) or '0') end

local function known_in_all() return math.max(S.known, tonumber(redis.call('HGET', base .. 'trust', '') or '0')) end

local function allowed(host) return J.host_size + J.trusted_share * trust_of(host.name) * known_in_all() end

local function unit_key(unit) return unit.key or unit.name end

local function hold(unit, reason)
  local trap = unit.trap
  trap.demoted, trap.since, trap.reason, trap.tried, trap.cost = 1, S.fetches, reason, unit.fetched, 0
  redis.call('SADD', base .. 'demoted', unit_key(unit))
  S.demoted = S.demoted + 1
  if unit.key then touch(unit) end
end

local function release(unit)
  local trap = unit.trap
  trap.demoted, trap.reason, trap.limit = 0, 0, C.REGROWTH * unit.known
  S.cost = S.cost - trap.cost
  redis.call('SREM', base .. 'demoted', unit_key(unit))
  S.demoted = S.demoted - 1
  if unit.key then touch(unit) end
end

local function comes_last(unit)
  local finite = unit.trap.reason == C.WORTHLESS and unit.trap.novelty <= J.high
  return finite and unit.queued <= math.max(J.first_probes, S.good)
end

local function demote(host, section)
  if host.trap.demoted == 0 and host.fetched >= J.min_fetches and host.trap.novelty > J.high
      and host.known > math.max(host.trap.limit, J.host_size) and host.known > allowed(host) then
    hold(host, C.GROWS)
  end
  if section.trap.demoted == 0 and section.fetched >= J.min_fetches then
    local vouched = section.known - section.own
    local may = math.max(J.section_size + J.vouched_share * vouched, section.trap.limit)
    local grows = section.trap.novelty > J.high and section.own > may
    if (grows and host.sections > 1) or section.recent < J.worthless then
      hold(section, grows and C.GROWS or C.WORTHLESS)
    end
  end
end

local function has_calmed(unit)
  local trap = unit.trap
  return trap.demoted == 1 and unit.fetched - trap.tried >= J.min_probes and trap.novelty < J.low
end

local function learn(host, section, good, news_here, news_host)
  S.fetches = S.fetches + 1
  S.good = S.good + good
  local function average(trap, news, fetched)
    trap.novelty = trap.novelty + (math.min(news, C.WINDOW) - trap.novelty) / math.min(C.WINDOW, fetched + 1)
  end
  average(section.trap, news_here, section.fetched)
  average(host.trap, news_host, host.fetched)
  host.good = host.good + good
  section.recent = section.recent + (good - section.recent) / math.min(C.WINDOW, section.fetched + 1)
  section.fetched = section.fetched + 1
  section.good = section.good + good
  local hope = (section.good + 1) / (section.fetched + 1)
  local doubt = math.sqrt(C.EXPLORATION * math.log(S.fetches + 2) / (section.fetched + 1))
  local innocence = 1 - C.TRAP_LIKE_LOSS * section.trap_like / math.max(section.known, 1)
  section.worth = math.min(1, hope + doubt) ^ C.YIELD_POWER * innocence
  touch(section)
  local unit = host.trap.demoted == 1 and host or section
  if unit.trap.demoted == 1 and not comes_last(unit) then
    local brought = unit == host and news_host or news_here
    local cost = (brought > 0 or good == 0) and 1 or C.CALM_COST
    unit.trap.cost = unit.trap.cost + cost
    S.cost = S.cost + cost
  end
  if holds then demote(host, section) end
  if has_calmed(section) and section.recent > C.RECOVERY * J.worthless then release(section) end
  if has_calmed(host) or (host.trap.demoted == 1 and host.known <= allowed(host)) then release(host) end
end

-- Probes

local function unit_named(key)
  local cut = key:find('\0', 1, true)
  local host = known_host(cut and key:sub(1, cut - 1) or key)
  if not host then return nil, nil end
  return host, cut and section_of(host, key:sub(cut + 1)) or nil
end

local function may_be_probed(unit, last)
  if not last then return not comes_last(unit) end
  if comes_last(unit) then return true end
  local shards = tonumber(redis.call('HGET', base .. 'crawl', 'shards') or '1')
  return unit.trap.cost < J.first_probes + unit.trap.tried
    and S.cost < J.first_probes / shards + J.last_probes * S.fetches
end

-- The demoted unit that deserves a probe most, of a few picked at random: {host, section or nil}. `busy`: hosts that
-- cannot be asked now count, too, as `last` asks only whether there will be anything.
local function unit_to_probe(last, busy)
  local found, least
  for _, key in ipairs(redis.call('SRANDMEMBER', base .. 'demoted', C.COMPARED)) do
    local host, section = unit_named(key)
    local unit = section or host
    if host and unit and unit.queued > 0 and unit.trap.demoted == 1 and not (section and host.trap.demoted == 1)
        and host.dead == 0 and (busy or (host.token == 0 and host.free_at <= now)) and may_be_probed(unit, last) then
      local time = (unit.trap.cost + 1) * unit.trap.novelty / (trust_of(host.name) + C.LEAST_TRUST) ^ C.TRUST_POWER
      if not least or time < least then found, least = {host, section}, time end
    end
  end
  return found
end

-- A waiting URL of the unit, picked at random: its key and its section.
local function sample(host, section)
  local candidates = {}
  if section then candidates[1] = section else
    for _, id in ipairs(redis.call('ZREVRANGE', base .. 'best:' .. host.name, 0, 15)) do
      candidates[#candidates + 1] = section_of(host, id)
    end
  end
  while #candidates > 0 do
    local one = table.remove(candidates, math.random(#candidates))
    local size = redis.call('ZCARD', queue_of(one))
    if size > 0 then
      local at = comes_last(one) and 0 or math.random(size) - 1
      return redis.call('ZREVRANGE', queue_of(one), at, at)[1], one
    end
  end
end
