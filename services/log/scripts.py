"""The five scripts of the protocol: short, constant, sent whole with EVAL, the commit by its digest
where the server holds it (else it has done nothing, and is sent the whole script).

A script that fails half-way keeps what it wrote, so each makes all its checks before its first
write. Outcomes are plain strings (`OK`, `FENCED`, `DAMAGED`): an error reply then always means
that the server refused before anything was written.

A lease is a hash: `o` its holder's nonce, `c` the counter. The newest entry of `out` is read
whole where it is checked; it is at most one turn's output.
"""

from functools import cache
from hashlib import sha1
from typing import Final

OK: Final = b"OK"
FENCED: Final = b"FENCED"
DAMAGED: Final = b"DAMAGED"

DEAD_LETTERS_KEPT: Final = 10_000
"""Dead letters are for people to look at; a flood of them must not fill the store."""

# CRC-32 as zlib has it, four bits at a time: a header has some 120 bytes.
_CRC: Final = """
local crc_of = {[0]=0,0x1DB71064,0x3B6E20C8,0x26D930AC,0x76DC4190,0x6B6B51F4,0x4DB26158,0x5005713C,
0xEDB88320,0xF00F9344,0xD6D6A3E8,0xCB61B38C,0x9B64C2B0,0x86D3D2D4,0xA00AE278,0xBDBDF21C}
local function crc(s)
  local c = -1
  for k = 1, #s do
    c = bit.bxor(c, string.byte(s, k))
    c = bit.bxor(bit.rshift(c, 4), crc_of[bit.band(c, 15)])
    c = bit.bxor(bit.rshift(c, 4), crc_of[bit.band(c, 15)])
  end
  return bit.tohex(bit.bnot(c))
end
"""

_NEWEST: Final = """
local last = redis.call('XREVRANGE', {out}, '+', '-', 'COUNT', 1)[1]
"""

ACQUIRE: Final = (
    _CRC
    + """
local lease, out, snap = KEYS[1], KEYS[2], KEYS[3]
local nonce, watched, counter = ARGV[1], ARGV[2], ARGV[3]
local held = redis.call('HMGET', lease, 'o', 'c')
if held[1] and (held[1] ~= watched or (counter ~= '' and held[2] ~= counter)) then
  return false
end
local now = redis.call('TIME')
local epoch = now[1] * 1000 + math.floor(now[2] / 1000)
local before, before_nonce = '0-0', ''
local position, time = '0-0/0', string.format('%.0f', epoch)
"""
    + _NEWEST.format(out="out")
    + """
if last then
  local f = last[2]
  if #f < 10 or f[1] ~= 'o' or f[5] ~= 'i' or f[7] ~= 't' or f[9] ~= 'c'
    or f[10] ~= crc(table.concat({last[1], f[2], f[4], f[6], f[8]}, '\\n')) then
    return 'DAMAGED'
  end
  before, before_nonce, position, time = last[1], f[2], f[6], f[8]
  epoch = math.max(epoch, tonumber(string.match(before, '^%d+')) + 1)
elseif redis.call('EXISTS', snap) == 1 then
  return 'DAMAGED'
end
local id = string.format('%.0f', epoch) .. '-0'
local p = before .. '/' .. before_nonce
local sum = crc(table.concat({id, nonce, p, position, time}, '\\n'))
redis.call('XADD', out, id, 'o', nonce, 'p', p, 'i', position, 't', time, 'c', sum)
redis.call('HSET', lease, 'o', nonce, 'c', 1)
return {string.format('%.0f', epoch), before, before_nonce, position, time}
"""
)
"""KEYS lease out snap. ARGV nonce, watched owner, watched counter (empty: not compared).

Gives nil where the lease is not as watched, else epoch and what stood before the barrier. An
entry that is damaged, or missing though there is a snapshot of it, is not built upon. The log
time of an empty shard begins with the server's clock; after that no clock is asked for it.
"""

COMMIT: Final = (
    """
local lease, out, dead, lobby = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local held = redis.call('HMGET', lease, 'o', 'c')
if held[1] ~= ARGV[1] or not tonumber(held[2]) then return 'FENCED' end
"""
    + _NEWEST.format(out="out")
    + """
if not last or last[1] ~= ARGV[2] or last[2][2] ~= ARGV[3] then return 'FENCED' end
local letters = tonumber(ARGV[10])
if #ARGV > 10 then
  local a, b = redis.call('TYPE', dead).ok, redis.call('TYPE', lobby).ok
  if (a ~= 'stream' and a ~= 'none') or (b ~= 'hash' and b ~= 'none') then return 'DAMAGED' end
end
redis.call('XADD', out, ARGV[4], 'o', ARGV[1], 'p', ARGV[5], 'i', ARGV[6], 't', ARGV[7],
  'c', ARGV[8], 'b', ARGV[9])
local at = 11
for _ = 1, letters do
  redis.call('XADD', dead, 'MAXLEN', '~', '%d', '*',
    'e', ARGV[at], 'k', ARGV[at + 1], 'r', ARGV[at + 2], 'b', ARGV[at + 3])
  at = at + 4
end
while ARGV[at] do
  if ARGV[at + 1] == '' then redis.call('HDEL', lobby, ARGV[at])
  else redis.call('HSET', lobby, ARGV[at], ARGV[at + 1]) end
  at = at + 2
end
redis.call('HINCRBY', lease, 'c', 1)
return 'OK'
""".replace("%d", str(DEAD_LETTERS_KEPT))
)
"""KEYS lease out dead lobby. ARGV nonce, expected id and nonce, new id, p, i, t, c, b, number of
dead letters, four values for each (entry, index, reason, body), then (table, lobby line) pairs, an
empty line for a table that leaves."""


@cache
def digest(script: str) -> str:
    """What EVALSHA names a script by. A commit comes some thousand times a second, and a tenth of
    what it cost the server was to look at the script's text."""
    return sha1(script.encode(), usedforsecurity=False).hexdigest()


SNAPSHOT: Final = (
    _CRC
    + """
local lease, out, commands, snap, arch, tries = unpack(KEYS)
local nonce, newest, id, position, now, keep = unpack(ARGV, 1, 6)
local held = redis.call('HMGET', lease, 'o', 'c')
if held[1] ~= nonce or not tonumber(held[2]) then return 'FENCED' end
"""
    + _NEWEST.format(out="out")
    + """
if not last or last[1] ~= newest or last[2][2] ~= nonce then return 'FENCED' end
local kind = redis.call('TYPE', commands).ok
if kind ~= 'stream' and kind ~= 'none' then return 'DAMAGED' end
local function before(a, b)
  local a1, a2 = string.match(a, '^(%d+)-(%d+)$')
  local b1, b2 = string.match(b, '^(%d+)-(%d+)$')
  a1, b1 = tonumber(a1), tonumber(b1)
  return a1 < b1 or (a1 == b1 and tonumber(a2) < tonumber(b2))
end
local archived = redis.call('GET', arch) or id
if not string.match(archived, '^%d+-%d+$') then archived = '0-0' end

local older = redis.call('HGET', snap, 'new')
local text, sum = string.match(older or '', '^(.*) (%x+)$')
if text and crc(text) ~= sum then text = nil end
local older_id, tables = string.match(text or '', '^(%S+) %S+ %S+ (%d+)$')
local marks, keep_from = {}, nil
local listed = (text and redis.call('HGET', snap, 'marks') or '') .. id .. ' ' .. now .. ';'
for mark, time in string.gmatch(listed, '(%d+%-%d+) (%d+);') do
  if tonumber(time) <= now - keep then keep_from, marks = mark, {} end
  marks[#marks + 1] = mark .. ' ' .. time .. ';'
end
local dirty_before = redis.call('HGET', snap, 'dirty') or ''
if not tables then
  tables = 0
  for _, field in ipairs(redis.call('HKEYS', snap)) do
    if string.sub(field, 1, 2) == 't:' and string.sub(redis.call('HGET', snap, field), 1, 1) == 'T'
    then tables = tables + 1 end
  end
end

for name in string.gmatch(dirty_before, '%S+') do
  redis.call('HDEL', snap, 'u:' .. name)
  local line = redis.call('HGET', snap, 't:' .. name)
  if line and string.sub(line, 1, 1) == 'G' then redis.call('HDEL', snap, 't:' .. name) end
end
local dirty = {}
for at = 7, #ARGV, 2 do
  local name, line = ARGV[at], ARGV[at + 1]
  local was = redis.call('HGET', snap, 't:' .. name)
  local lives = string.sub(line, 1, 1) == 'T'
  if was then
    redis.call('HSET', snap, 'u:' .. name, was)
    if string.sub(was, 1, 1) == 'T' then tables = tables - 1 end
  end
  if lives then tables = tables + 1 end
  if was or lives then
    redis.call('HSET', snap, 't:' .. name, line)
    dirty[#dirty + 1] = name
  end
end
local head = table.concat({id, position, now, string.format('%.0f', tables)}, ' ')
redis.call('HSET', snap, 'new', head .. ' ' .. crc(head),
  'marks', table.concat(marks), 'dirty', table.concat(dirty, ' '))
if text then redis.call('HSET', snap, 'old', older) else redis.call('HDEL', snap, 'old') end
if older_id and keep_from then
  local from = older_id
  if before(keep_from, from) then from = keep_from end
  if before(archived, from) then from = archived end
  if before(id, from) then from = id end
  redis.call('XTRIM', out, 'MINID', '=', from)
end
redis.call('XTRIM', commands, 'MINID', '=', string.match(position, '^[^/]+'))
redis.call('DEL', tries)
redis.call('HINCRBY', lease, 'c', 1)
return 'OK'
"""
)
"""KEYS lease out in snap arch tries. ARGV nonce, expected id, id of the entry it is a snapshot of,
position, log time, milliseconds to keep, then (table, line) pairs; the line of a table that is gone
begins with G, of others with T.

The hash `snap`: `t:<table>` the newest line of each table, `dirty` the tables the newest snapshot
wrote, `u:<table>` for each of those the line it had before, `new` and `old` the heads of the two
snapshots, `marks` (id, log time) of past snapshots, by which the entries of the last `keep`
milliseconds are found.
"""

RENEW: Final = """
local held = redis.call('HMGET', KEYS[1], 'o', 'c')
if held[1] ~= ARGV[1] or not tonumber(held[2]) then return 'FENCED' end
redis.call('HINCRBY', KEYS[1], 'c', 1)
return 'OK'
"""
"""KEYS lease. ARGV nonce."""

RELEASE: Final = """
if redis.call('HGET', KEYS[1], 'o') ~= ARGV[1] then return 'FENCED' end
redis.call('DEL', KEYS[1])
return 'OK'
"""
"""KEYS lease. ARGV nonce."""
