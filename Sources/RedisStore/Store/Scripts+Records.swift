extension Scripts {
    // MARK: Replaceable records and ids

    /// Replaces a record by compare-and-swap. Returns 1 if done, 0 if there is no record or its lineage has ended, -1
    /// if the record was written under another reign, and the present value if it is not the judged value.
    ///
    /// Keys: record, ledger. Arguments: judged value (empty if none may exist), bytes, TTL, ledger's TTL, `R` if the
    /// record is bound to the reign.
    static let replace = RedisScript(Self.replaceText, kind: .replace)

    /// Works as `replace` does, for records that need no confirmation by a replica (`isConfirmed`).
    static let replaceUnconfirmed = RedisScript(Self.replaceText, kind: .replace, isDurable: false)

    private static let replaceText = """
        local ledger = redis.call('GET', KEYS[2])
        if ledger == 'E' then return 0 end
        local value = redis.call('GET', KEYS[1])
        if ARGV[1] == '' then
          if value then return value end
        else
          if not ledger or not value then return 0 end
          if value ~= ARGV[1] then return value end
        end
        local prefix = ''
        if ARGV[5] == 'R' then
          \(Self.reign)
          if value and string.sub(value, 1, #reign) ~= reign then return -1 end
          prefix = reign
        end
        redis.call('SET', KEYS[1], prefix .. ARGV[2], 'PX', ARGV[3])
        \(Self.outlive(for: "ARGV[4]"))
        return 1
        """

    /// Returns the value and writes it or its TTL again: a replica that confirms this write has all earlier writes.
    ///
    /// Keys: record or document.
    static let rewrite = RedisScript(
        """
        local value = redis.call('GET', KEYS[1])
        if not value then return value end
        local life = redis.call('PTTL', KEYS[1])
        if life > 0 then redis.call('PEXPIRE', KEYS[1], life) else redis.call('SET', KEYS[1], value) end
        return value
        """,
        kind: .confirm
    )

    /// Ends a replaceable record. If the record is already gone, writes the ledger's TTL again, so that a replica can
    /// confirm the earlier end (`endSession`). Returns 1.
    ///
    /// Keys: record, ledger, ending. Arguments: TTL of the ending (ms).
    static let endRecord = RedisScript(
        """
        redis.call('GET', KEYS[1])
        if redis.call('DEL', KEYS[1]) > 0 then
          redis.call('SET', KEYS[3], '', 'PX', ARGV[1])
        else
          \(Self.rewriteLedger)
        end
        return 1
        """,
        kind: .endRecord
    )

    /// Adds a line to a subject's list of sessions. All lines are equally long. If there are a quarter more lines than
    /// the maximum, the expired and the oldest lines are removed. This takes 20 times as long as adding a line, so it
    /// is not done each time. Returns 1.
    ///
    /// Keys: list. Arguments: now (ms), the session's end (ms), its line, the maximum number of lines, the time for
    /// which the list outlives its sessions (ms).
    static let noteSession = RedisScript(
        """
        local list = (redis.call('GET', KEYS[1]) or '') .. ARGV[3]
        local life = math.max(1, ARGV[2] - ARGV[1] + ARGV[5], redis.call('PTTL', KEYS[1]))
        if #list > #ARGV[3] * ARGV[4] * 1.25 then
          local kept = {}
          for line, time in string.gmatch(list, '((%d+) [^\\n]+\\n)') do
            if tonumber(time) > tonumber(ARGV[1]) then table.insert(kept, line) end
          end
          list = table.concat(kept, '', math.max(1, #kept - ARGV[4] + 1))
        end
        redis.call('SET', KEYS[1], list, 'PX', string.format('%.0f', life))
        return 1
        """,
        kind: .note,
        // If a failover loses the line, the session is only missing from a list.
        isDurable: false
    )

    /// Adds a line to the log of the sessions that began in one hour. Returns 1.
    ///
    /// Keys: log. Arguments: now (ms), the session's end (ms), its line, how long the log outlives its sessions (ms).
    static let logSession = RedisScript(
        """
        local life = math.max(1, ARGV[2] - ARGV[1] + ARGV[4], redis.call('PTTL', KEYS[1]))
        redis.call('APPEND', KEYS[1], ARGV[3])
        redis.call('PEXPIRE', KEYS[1], string.format('%.0f', life))
        return 1
        """,
        kind: .note,
        isDurable: false
    )

    /// Adds an hour to the list of hours, with the time until which the hour's log may have live sessions. Removes the
    /// hours for which this time has passed. Returns 1.
    ///
    /// Keys: list of hours. Arguments (times in ms): now, the hour's time, the hour, how long the list outlives logs.
    static let noteHour = RedisScript(
        """
        local kept, last = {}, tonumber(ARGV[2])
        for line, time, hour in string.gmatch(redis.call('GET', KEYS[1]) or '', '((%d+) (%d+)\\n)') do
          if hour == ARGV[3] then
            last = math.max(last, tonumber(time))
          elseif tonumber(time) > tonumber(ARGV[1]) then
            table.insert(kept, line)
          end
        end
        table.insert(kept, string.format('%.0f %s\\n', last, ARGV[3]))
        local life = math.max(1, last - ARGV[1] + ARGV[4], redis.call('PTTL', KEYS[1]))
        redis.call('SET', KEYS[1], table.concat(kept), 'PX', string.format('%.0f', life))
        return 1
        """,
        kind: .note,
        isDurable: false
    )

    /// Stores an id under its name of the first secret. Returns 1, or 0 if the id is present under any of its names.
    ///
    /// Keys: one for each name of the id. Arguments: TTL (ms).
    static let once = RedisScript(
        """
        for index = 1, #KEYS do
          if redis.call('EXISTS', KEYS[index]) == 1 then return 0 end
        end
        redis.call('SET', KEYS[1], '', 'PX', ARGV[1])
        return 1
        """,
        kind: .once
    )

    // MARK: Documents

    /// Writes a document by compare-and-swap under its first name only. Returns 1 if done, 0 if there is no document,
    /// -1 if the collection is full, and the present value if it is not the judged value.
    ///
    /// Keys: one for each name of the document, and the directory. Arguments: judged value (empty if no document may
    /// exist), bytes, the maximum number of documents.
    static let putDocument = RedisScript(
        """
        local value = \(Self.standingDocument)
        if (value or '') ~= ARGV[1] then return value or 0 end
        \(Self.editDirectory)
        if not value and #names >= tonumber(ARGV[3]) * (#name + 1) then return -1 end
        redis.call('SET', KEYS[#KEYS], names .. name .. '\\n')
        redis.call('SET', KEYS[1], ARGV[2])
        for index = 2, #KEYS - 1 do redis.call('DEL', KEYS[index]) end
        return 1
        """,
        kind: .document
    )

    /// Deletes a document under all its names. Returns 1 if it existed, otherwise 0. Always writes the directory, so
    /// that a replica can confirm a repeated deletion (`confirm`).
    ///
    /// Keys: one for each name of the document, and the directory.
    static let deleteDocument = RedisScript(
        """
        local value = \(Self.standingDocument)
        \(Self.editDirectory)
        for index = 1, #KEYS - 1 do redis.call('DEL', KEYS[index]) end
        redis.call('SET', KEYS[#KEYS], names)
        return value and 1 or 0
        """,
        kind: .document
    )

    /// A Lua expression for the value of a document under any of its names.
    private static let standingDocument = """
        (function()
          for index = 1, #KEYS - 1 do
            local value = redis.call('GET', KEYS[index])
            if value then return value end
          end
        end)()
        """

    /// Sets `name` to the first name of a document, and `names` to the names of all other documents of its collection.
    private static let editDirectory = """
        local name = string.match(KEYS[1], '}:(.+)$')
        local names = redis.call('GET', KEYS[#KEYS]) or ''
        for index = 1, #KEYS - 1 do
          local line = string.match(KEYS[index], '}:(.+)$') .. '\\n'
          local from, to = string.find(names, line, 1, true)
          if from then names = string.sub(names, 1, from - 1) .. string.sub(names, to + 1) end
        end
        """
}
