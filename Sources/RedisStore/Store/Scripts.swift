/// The atomic steps in Redis. They compare and act on opaque bytes; all judging is done in Swift.
///
/// A lineage's ledger is `L` while the lineage is live and `E` once it has ended, and outlives every record of the
/// lineage. A missing ledger means that data was lost (or has expired), and the records are treated as ended.
///
/// If memory is exhausted, Redis refuses a script's first write if it needs memory, but accepts every later write.
/// Scripts that create something write first, so that a refusal leaves everything unchanged. Scripts that end something
/// delete first, so that users can always be signed out.
package enum Scripts {
    /// Writes a session and makes its lineage's ledger outlive it. Returns 1, or 0 if the lineage has ended.
    ///
    /// Keys: session, ledger, idle. Arguments: bytes, TTL, ledger's TTL, idle value, idle TTL; TTLs in ms.
    static let createSession = RedisScript(
        """
        local ledger = redis.call('GET', KEYS[2])
        if ledger == 'E' then return 0 end
        redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
        redis.call('SET', KEYS[3], ARGV[4], 'PX', ARGV[5])
        \(Self.outlive)
        return 1
        """,
        kind: .create
    )

    /// Writes a single-use token under the primary's current reign (see `consume`), unless its lineage has ended.
    /// Returns 1 if written, otherwise 0.
    ///
    /// Keys: token, ledger[, the key of its parent's name]. Arguments: bytes, TTL, ledger's TTL (ms)[, its parent's
    /// name].
    static let createSingleUse = RedisScript(
        """
        \(Self.reign)
        local ledger = redis.call('GET', KEYS[2])
        if ledger == 'E' then return 0 end
        redis.call('SET', KEYS[1], reign .. ARGV[1], 'PX', ARGV[2])
        if KEYS[3] then redis.call('SET', KEYS[3], ARGV[4], 'PX', ARGV[2]) end
        \(Self.outlive)
        return 1
        """,
        kind: .create
    )

    /// Reads a single-use token and its parent session. The script derives the session's key from the token's tag and
    /// the parent's name. While a cluster is moving the slot, Redis may refuse the script.
    ///
    /// Returns marker, record, ledger and the parent's name. If there are a record and a name and no marker, also
    /// returns the parent's record and its idle value, and the epochs of its subject unless they have separate slots.
    ///
    /// Keys: marker, token, ledger, the key of its parent's name. Arguments: `E` if epochs are read too.
    static let readWithParent = RedisScript(
        """
        local found = redis.call('MGET', KEYS[1], KEYS[2], KEYS[3], KEYS[4])
        if found[1] or not found[2] or not found[4] then return found end
        local tag = string.match(KEYS[2], '{.-}:')
        local names = string.gmatch(found[4], '%S+')
        local digest = names()
        local places = {'sp:s:' .. tag .. digest, 'sp:i:' .. tag .. digest}
        if ARGV[1] == 'E' then
          for name in names do table.insert(places, 'sp:e:{' .. name .. '}') end
        end
        for _, value in ipairs(redis.call('MGET', unpack(places))) do table.insert(found, value) end
        return found
        """,
        kind: .mget,
        isDurable: false
    )

    /// The length in bytes of a reign's name. The name precedes the bytes of a record.
    static let reignLength = 40

    /// Reads the reign of the primary that runs the script: its `master_replid`, which changes with every start and
    /// every promotion. The script reads it, because a gateway may still know an earlier reign.
    ///
    /// The id also changes when a primary without replicas gets a replica, and when a cluster moves the slot to another
    /// primary. Unused tokens are then rejected, although nothing was lost.
    static let reign = """
        local reign = string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)')
        if not reign or #reign ~= \(Self.reignLength) then return redis.error_reply('ERR no master_replid in INFO') end
        """

    /// Makes the ledger outlive the record that was just written. The ledger's value has been read into `ledger`.
    private static let outlive = Self.outlive(for: "ARGV[3]")

    static func outlive(for life: String) -> String {
        """
        if not ledger then
          redis.call('SET', KEYS[2], 'L', 'PX', \(life))
        elseif redis.call('PTTL', KEYS[2]) < tonumber(\(life)) then
          redis.call('PEXPIRE', KEYS[2], \(life))
        end
        """
    }

    /// Uses a single-use record by compare-and-act. Returns the present marker if there is one. Otherwise returns 1 if
    /// done, 0 if the record is not the judged one, its lineage has ended or its parent is gone, and -1 if the record
    /// is from another reign.
    ///
    /// A failover or a restart can lose a marker and bring back the record. The record is then from an earlier reign,
    /// and is never used.
    ///
    /// Keys: record, marker, ledger[, the keys of created records][, parent]. Arguments: judged bytes (empty if no
    /// record that could be consumed was judged), marker, its TTL, `P` if the last key is the parent, ledger's TTL[,
    /// and for each created record: value, TTL, `R` if it is written under the reign].
    static let consume = RedisScript(
        """
        local marker = redis.call('GET', KEYS[2])
        if marker then return marker end
        if ARGV[1] == '' or redis.call('GET', KEYS[3]) ~= 'L' then return 0 end
        if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
        local last = #KEYS
        if ARGV[4] == 'P' then
          if redis.call('EXISTS', KEYS[last]) == 0 then return 0 end
          last = last - 1
        end
        \(Self.reign)
        if string.sub(ARGV[1], 1, #reign) ~= reign then return -1 end
        redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
        for index = 4, last do
          local first = 6 + 3 * (index - 4)
          local value = ARGV[first]
          if ARGV[first + 2] == 'R' then value = reign .. value end
          redis.call('SET', KEYS[index], value, 'PX', ARGV[first + 1])
        end
        if last > 3 and redis.call('PTTL', KEYS[3]) < tonumber(ARGV[5]) then redis.call('PEXPIRE', KEYS[3], ARGV[5]) end
        redis.call('DEL', KEYS[1])
        return 1
        """,
        kind: .consume
    )

    /// Returns the marker and writes its TTL again, so that there is a write to confirm: from Redis 7.2 on, `WAIT`
    /// waits only for writes of its own connection. A replica that has this write has all earlier writes.
    ///
    /// Keys: marker. Arguments: its TTL (ms).
    static let confirm = RedisScript(
        """
        local marker = redis.call('GET', KEYS[1])
        if marker then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
        return marker
        """,
        kind: .confirm
    )

    /// Extends the idle deadline if it has not passed. Skips extensions under min(60 s, a tenth of the idle lifetime).
    ///
    /// Keys: idle. Arguments: now (ms), the time for which the key is kept after the deadline (ms).
    static let touch = RedisScript(
        """
        local value = redis.call('GET', KEYS[1])
        if not value then return 0 end
        local deadline, idle = string.match(value, '^(%d+) (%d+)$')
        if not deadline then return redis.error_reply('ERR not an idle deadline') end
        deadline = tonumber(deadline)
        idle = tonumber(idle)
        local now = tonumber(ARGV[1])
        if now >= deadline or now + idle - deadline < math.min(60000, idle / 10) then return 0 end
        redis.call('SET', KEYS[1], string.format('%.0f %.0f', now + idle, idle),
          'PX', string.format('%.0f', idle + tonumber(ARGV[2])))
        return 1
        """,
        kind: .touch,
        // If a failover loses the new deadline, the session only ends early.
        isDurable: false
    )

    /// Replaces a live session and keeps its TTL. Returns 1 if done, 0 if it has ended or idled out, -1 if it has
    /// changed since it was judged.
    ///
    /// Keys: session, ledger, idle. Arguments: judged bytes, bytes.
    static let replaceSession = RedisScript(
        """
        local value = redis.call('GET', KEYS[1])
        if not value or redis.call('GET', KEYS[2]) ~= 'L' or redis.call('EXISTS', KEYS[3]) == 0 then return 0 end
        if value ~= ARGV[1] then return -1 end
        redis.call('SET', KEYS[1], ARGV[2], 'KEEPTTL')
        return 1
        """,
        kind: .replace,
        // If the replacement is lost, the former session is back (`SessionStore.replace`).
        isDurable: false
    )

    /// Deletes a session and returns its former values: session, ledger and idle value, as a read would return them.
    /// The last key is written only when a session ends, so that caches can tell an end from an expiry.
    ///
    /// If the session is already gone, the ledger's TTL is written again, so that a replica can confirm an end that was
    /// not confirmed before (see `confirm`).
    ///
    /// Keys: session, ledger, idle, ending. Arguments: TTL of the ending (ms).
    static let endSession = RedisScript(
        """
        local found = redis.call('MGET', KEYS[1], KEYS[2], KEYS[3])
        if redis.call('DEL', KEYS[1], KEYS[3]) > 0 then
          redis.call('SET', KEYS[4], '', 'PX', ARGV[1])
        else
          \(Self.rewriteLedger)
        end
        return found
        """,
        kind: .endSession
    )

    /// Writes the ledger's TTL again, if there is a ledger.
    static let rewriteLedger = """
        local life = redis.call('PTTL', KEYS[2])
        if life > 0 then redis.call('PEXPIRE', KEYS[2], life) end
        """

    /// Repeats the end of a session whose record is gone. Returns 1, and writes the ledger's TTL again so that there is
    /// a write to confirm (see `confirm`). Returns 0 if the record is present, which can happen after a failover.
    ///
    /// Keys: session, ledger.
    static let confirmEnd = RedisScript(
        """
        if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
        \(Self.rewriteLedger)
        return 1
        """,
        kind: .endSession
    )

    /// Ends a lineage for as long as its records could have lived, and at least for the minimum TTL. Caches follow the
    /// prefix of the second key. They do not follow the ledger, because it is also written for other reasons.
    ///
    /// Keys: ledger, ending. Arguments: the minimum TTL (ms), TTL of the ending (ms).
    static let endLineage = RedisScript(
        """
        local life = math.max(redis.call('PTTL', KEYS[1]), tonumber(ARGV[1]))
        redis.call('DEL', KEYS[2])
        redis.call('SET', KEYS[1], 'E', 'PX', string.format('%.0f', life))
        redis.call('SET', KEYS[2], '', 'PX', ARGV[2])
        return 1
        """,
        kind: .endLineage
    )

    /// Raises a subject's epoch and returns it. Epochs are times by Redis's clock in ms, so an expired epoch is never
    /// used again.
    ///
    /// Keys: epoch. Arguments: TTL (ms), the epoch to set (0 for a new epoch).
    static let endSubject = RedisScript(
        """
        local old = tonumber(redis.call('GET', KEYS[1]) or '0')
        local epoch = tonumber(ARGV[2])
        if epoch == 0 then
          local time = redis.call('TIME')
          epoch = time[1] * 1000 + math.floor(time[2] / 1000)
        end
        if epoch <= old then epoch = old + 1 end
        redis.call('DEL', KEYS[1])
        redis.call('SET', KEYS[1], string.format('%.0f', epoch), 'PX', ARGV[1])
        return epoch
        """,
        kind: .endSubject
    )

    /// Raises a subject's epoch to one that was issued before, unless the epoch is already that high.
    ///
    /// Keys: epoch. Arguments: TTL (ms), the epoch.
    static let raiseEpoch = RedisScript(
        """
        if tonumber(redis.call('GET', KEYS[1]) or '0') >= tonumber(ARGV[2]) then return 0 end
        redis.call('DEL', KEYS[1])
        redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[1])
        return 1
        """,
        kind: .endSubject
    )

    /// All scripts.
    package static let all = [
        Self.createSession, Self.createSingleUse, Self.readWithParent, Self.consume, Self.confirm, Self.touch,
        Self.replaceSession,
        Self.endSession, Self.confirmEnd, Self.endLineage, Self.endSubject, Self.raiseEpoch, Self.replace,
        Self.replaceUnconfirmed,
        Self.rewrite, Self.endRecord, Self.noteSession, Self.logSession, Self.noteHour, Self.once, Self.putDocument,
        Self.deleteDocument, Self.allow,
        Self.giveBack, Self.forgive, Self.register,
    ]
}
