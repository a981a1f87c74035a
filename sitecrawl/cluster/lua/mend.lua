-- What only a step can put together again: sitecrawl.cluster.rebuilding does the rest, while no worker is at work.
--
-- args: repair, waiting ({host, key} of URLs that wait and are in no queue), stored ({host, key, status} of pages that a
-- worker has stored, and that count as done from now on). Returns the shard.

for _, one in ipairs(args.waiting) do
  local host, key = known_host(one[1]), one[2]
  local url = read_url(key)
  local section = section_of(host, url[SECTION])
  line_up(key, url, section)
  touch(section)
end

for _, one in ipairs(args.stored) do
  local host, key, status = host_named(one[1]), one[2], one[3]
  local url = read_url(key)
  if url then
    if url[TOKEN] ~= 0 then
      local token = plain(url[TOKEN])
      put_back(token, key, host)
      forget_if_over(token)
      url = read_url(key)
    end
    local section = section_of(host, url[SECTION])
    end_waiting(host, section, key, url, C.FETCHED, status)
    touch(section)
  else
    redis.call('HSET', done_key(key), key, struct.pack('>BHf', C.FETCHED, status, 0))
    S.known, host.known = S.known + 1, host.known + 1
  end
  S.fetched, host.fetched = S.fetched + 1, host.fetched + 1
end

return cmsgpack.pack({shard = finish()})
