extension Scripts {
    /// Writes a gateway's entry into the register (`SecretRegister`), drops the entries that have not been written
    /// within the lifetime, and returns the register.
    ///
    /// Keys: register. Arguments: id, fingerprints (empty if the entry is removed), lifetime (ms).
    static let register = RedisScript(
        """
        local time = redis.call('TIME')
        local now = time[1] * 1000 + math.floor(time[2] / 1000)
        local since = now
        local lines = {}
        for line in string.gmatch(redis.call('GET', KEYS[1]) or '', '[^\\n]+') do
          local id, began, seen = string.match(line, '^(%S+) (%d+) (%d+) ')
          if id and now - seen < tonumber(ARGV[3]) then
            if id == ARGV[1] then since = tonumber(began) else table.insert(lines, line) end
          end
        end
        if ARGV[2] ~= '' then
          table.insert(lines, string.format('%s %.0f %.0f %s', ARGV[1], since, now, ARGV[2]))
        end
        if #lines == 0 then
          redis.call('DEL', KEYS[1])
          return ''
        end
        local text = table.concat(lines, '\\n')
        redis.call('SET', KEYS[1], text, 'PX', ARGV[3])
        return text
        """,
        isDurable: false
    )
}
