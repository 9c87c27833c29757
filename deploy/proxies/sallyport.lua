-- Asks Sallyport whether a request is allowed, for HAProxy 2.6 or later:
--   http-request lua.sallyport 127.0.0.1:9092 x-auth-subject,x-auth-email
-- The X-Forwarded-* fields that describe the request are set before, by http-request set-header. An allowed request gets
-- the named fields, and loses those that have no value. Any other answer, up to a length, goes to the client as it is.
--
-- It asks once, on a connection of its own: HAProxy's own client repeats a request, and a transfer token is used up by the
-- first.

-- The longest time of a check, from the first byte to the last.
local seconds = 5
-- The longest answer, in bytes, with its head. HAProxy writes it into one buffer, of which it keeps a part for itself:
-- this needs tune.bufsize 393216.
local longest = 380000
-- Fields of the message itself, which are not those of the check.
local own = { "host", "connection", "content-length", "expect", "keep-alive", "te", "transfer-encoding", "upgrade" }

local function clock()
  local now = core.now()
  return now.sec + now.usec / 1000000
end

-- The status, the fields and the body of the answer; nil if there is none in time.
local function ask(socket, address, fields)
  local deadline = clock() + seconds
  -- Each step has what is left of the time.
  local function step(name, ...)
    local left = deadline - clock()
    if left <= 0 then return nil end
    socket:settimeout(left)
    return socket[name](socket, ...)
  end
  local lines = { "GET /authz/forward-auth HTTP/1.1", "Host: sallyport", "Connection: close" }
  for name, values in pairs(fields) do
    for _, value in pairs(values) do lines[#lines + 1] = name .. ": " .. value end
  end
  if not step("connect", address) then return nil end
  if not step("send", table.concat(lines, "\r\n") .. "\r\n\r\n") then return nil end
  local first = step("receive", "*l")
  local status, reason = (first or ""):match("^HTTP/1%.1 (%d%d%d) ?([^\r]*)")
  if not status then return nil end
  local answer = { status = tonumber(status), reason = reason, fields = {}, body = "" }
  local size = #first
  while true do
    local line = step("receive", "*l")
    if not line then return nil end
    line = line:gsub("\r$", "")
    if line == "" then break end
    size = size + #line
    local name, value = line:match("^([^:]+):%s*(.-)%s*$")
    if not name or size > longest then return nil end
    name = name:lower()
    answer.fields[name] = answer.fields[name] or {}
    table.insert(answer.fields[name], value)
  end
  local length = tonumber((answer.fields["content-length"] or { "0" })[1]) or 0
  if size + length > longest then return nil end
  if length > 0 then
    answer.body = step("receive", length)
    if not answer.body or #answer.body < length then return nil end
  end
  return answer
end

local function answer(txn, status, reason, fields, body)
  local reply = txn:reply({ status = status, reason = reason })
  for name, values in pairs(fields) do
    if name ~= "connection" and name ~= "content-length" and name ~= "transfer-encoding" then
      for _, value in pairs(values) do reply:add_header(name, value) end
    end
  end
  if body and txn.sf:method() ~= "HEAD" then reply:set_body(body) end
  txn:done(reply)
end

core.register_action("sallyport", { "http-req" }, function(txn, address, names)
  -- A URL of the gateway, as configurations of before had it.
  address = address:gsub("^http://", ""):gsub("/.*$", "")
  local fields = txn.http:req_get_headers()
  for _, name in ipairs(own) do fields[name] = nil end
  local socket = core.tcp()
  local check = ask(socket, address, fields)
  socket:close()
  local status = check and check.status or 0
  if status >= 200 and status < 300 then
    for name in names:gmatch("[^,]+") do
      txn.http:req_del_header(name)
      local value = check.fields[name] and check.fields[name][1]
      if value and value ~= "" then txn.http:req_add_header(name, value) end
    end
  elseif status >= 300 and (status < 500 or check.fields["x-sallyport-reason"]) then
    answer(txn, status, check.reason, check.fields, check.body)
  else
    -- Sallyport cannot be reached, which is no verdict.
    answer(txn, 503, "Service Unavailable", { ["retry-after"] = { "5" }, ["cache-control"] = { "no-store" } })
  end
end, 2)
