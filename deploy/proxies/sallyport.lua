-- Asks Sallyport whether a request is allowed, for HAProxy 2.6 or later:
--   http-request lua.sallyport http://127.0.0.1:9092/authz/forward-auth x-auth-subject,x-auth-email
-- The X-Forwarded-* fields that describe the request are set before, by http-request set-header. An allowed request gets
-- the named fields, and loses those that have no value. Any other answer goes to the client as it is.

-- Fields of the message itself, which are not those of the check.
local own = { "host", "connection", "content-length", "expect", "keep-alive", "te", "transfer-encoding", "upgrade" }

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

core.register_action("sallyport", { "http-req" }, function(txn, url, names)
  local fields = txn.http:req_get_headers()
  for _, name in ipairs(own) do fields[name] = nil end
  -- Milliseconds.
  local check = core.httpclient():get({ url = url, headers = fields, timeout = 5000 })
  local status = check and check.status or 0
  if status >= 200 and status < 300 then
    for name in names:gmatch("[^,]+") do
      txn.http:req_del_header(name)
      local value = check.headers[name] and check.headers[name][0]
      if value and value ~= "" then txn.http:req_add_header(name, value) end
    end
  elseif status >= 300 and (status < 500 or check.headers["x-sallyport-reason"]) then
    answer(txn, status, check.reason, check.headers, check.body)
  else
    -- Sallyport cannot be reached, which is no verdict.
    answer(txn, 503, "Service Unavailable", { ["retry-after"] = { "5" }, ["cache-control"] = { "no-store" } })
  end
end, 2)
