extension Scripts {
    /// Fills a rate limiter's bucket by Redis's clock. Returns 0 if the cost fits; otherwise adds nothing and returns
    /// the time in ms until the cost fits. The value of the key is the time when the bucket will be empty, in
    /// microseconds. If a new primary's clock is behind, the value is lowered to that of a full bucket.
    ///
    /// Keys: bucket. Arguments: interval (ms), burst, cost.
    static let allow = RedisScript(
        """
        local time = redis.call('TIME')
        local now = time[1] * 1000000 + time[2]
        local interval = ARGV[1] * 1000
        local full = now + interval * ARGV[2]
        local function keep(empty)
          redis.call('SET', KEYS[1], string.format('%.0f', empty),
            'PX', string.format('%.0f', math.ceil((empty - now) / 1000)))
        end
        local value = tonumber(redis.call('GET', KEYS[1]) or '0')
        if value > full then
          value = full
          keep(full)
        end
        local filled = math.max(value, now) + interval * ARGV[3]
        if filled > full then return math.ceil((filled - full) / 1000) end
        keep(filled)
        return 0
        """,
        kind: .allow,
        // If a failover loses the count, another burst is allowed.
        isDurable: false
    )

    /// Removes a cost from a rate limiter's bucket, as far as the cost has not drained.
    ///
    /// Keys: bucket. Arguments: interval (ms), cost.
    static let giveBack = RedisScript(
        """
        local time = redis.call('TIME')
        local now = time[1] * 1000000 + time[2]
        local empty = tonumber(redis.call('GET', KEYS[1]) or '0') - ARGV[1] * 1000 * ARGV[2]
        if empty <= now then return redis.call('DEL', KEYS[1]) end
        redis.call('SET', KEYS[1], string.format('%.0f', empty),
          'PX', string.format('%.0f', math.ceil((empty - now) / 1000)))
        return 0
        """,
        isDurable: false
    )

    /// Empties a rate limiter's bucket.
    ///
    /// Keys: bucket.
    static let forgive = RedisScript("return redis.call('DEL', KEYS[1])", isDurable: false)
}
