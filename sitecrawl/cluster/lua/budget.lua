-- What this shard may lend and has no use for goes to another one: through the outbox, which counts once.
--
-- args: session, ms, account, stream, seq, target, amount (at most). Returns the blob in the outbox, false if there is none.

local spare = S.budget - (S.ready > 0 and S.waiting or 0)
local amount = args.account == S.account and math.min(args.amount, spare) or 0
local blob = amount > 0 and send_part({links = {}, arrived = 0, budget = amount, account = args.account})
if blob then S.budget = S.budget - amount end
return cmsgpack.pack({blob = blob, shard = finish()})
