-- The lambda page's share of this shard goes, in part, to another's: through the outbox, like any credit.
--
-- args: session, ms, stream, seq, target, amount (at most). Returns the blob in the outbox, false if there is none.

local amount = math.min(args.amount, S.reserve)
local blob = amount > 0 and send_part({links = {}, arrived = amount})
if blob then S.reserve, S.sent = S.reserve - amount, S.sent + amount end
return cmsgpack.pack({blob = blob, shard = finish()})
