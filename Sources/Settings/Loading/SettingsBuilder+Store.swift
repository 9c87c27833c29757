internal import Vocabulary

extension SettingsBuilder {
    // MARK: Store

    /// - Parameter hasSecret: Whether `secret_file` was read.
    mutating func setStore(_ store: inout StoreSettings, hasSecret: Bool) {
        guard let tree = self.tree.tree("store"), let redis = tree.tree("redis") else { return }
        store.redis = self.redis(redis)
        guard store.redis != nil else { return }
        if tree["memory"] != nil {
            self.warnings.append("store.memory has no effect with store.redis: sessions are kept in Redis")
        }
        if !hasSecret, self.tree["secret_file"] == nil, !self.isPartial {
            self.report(
                redis.origin,
                "secret_file",
                found: "nothing, but store.redis (SALLYPORT_REDIS_URL) is set",
                allowed: "a file with the secret that all gateways on this Redis share",
                mend: "make one with `sallyport keys make FILE` and add secret_file, or set SALLYPORT_SECRET_FILE"
            )
        }
    }

    private mutating func redis(_ tree: SettingsTree) -> RedisSettings? {
        guard let (url, origin, key) = self.redisURL(tree) else { return nil }
        if let fault = self.judges.redisURL(url) {
            self.report(
                origin,
                key,
                found: "a URL (not shown) that cannot be used",
                allowed: TextRule.redisURL.allowed,
                mend: "correct this: \(fault)"
            )
        }
        var redis = RedisSettings(url: url)
        tree.set(.redis, in: &redis)
        return redis
    }

    /// The URL from where it was written. A variable takes precedence over the file, also when the two use different
    /// keys.
    private mutating func redisURL(_ tree: SettingsTree) -> (url: Secret, origin: SettingsOrigin, key: String)? {
        var (written, file) = (tree["url"], tree["url_file"])
        if let one = written, let other = file {
            switch (one.origin.isVariable, other.origin.isVariable) {
            case (true, false): file = nil
            case (false, true): written = nil
            default:
                self.report(
                    other.origin,
                    "store.redis.url_file",
                    found: "both url and url_file",
                    allowed: "one of them",
                    mend: "remove one: the other is at \(one.origin)"
                )
                return nil
            }
        }
        if let written {
            return tree.secret("url").map { ($0, written.origin, "store.redis.url") }
        }
        guard let file else {
            self.reportMissingURL(tree)
            return nil
        }
        let key = "store.redis.url_file"
        guard let content = self.secret("url_file", of: tree, key: key, minBytes: 1) else { return nil }
        // The same check as for a URL that is written directly.
        do throws(SyntaxFault) {
            _ = try TextRule.redisURL.read(String(decoding: content.bytes, as: UTF8.self))
        } catch {
            self.report(
                file.origin,
                key,
                found: "a file that holds no Redis URL (not shown)",
                allowed: "a file with one line, \(TextRule.redisURL.allowed)",
                mend: error.mend
            )
            return nil
        }
        return (content, file.origin, key)
    }

    private mutating func reportMissingURL(_ tree: SettingsTree) {
        guard !self.isPartial else { return }
        self.report(
            tree.origin,
            "store.redis.url",
            found: "nothing",
            allowed: TextRule.redisURL.allowed,
            mend: "add url_file, or set SALLYPORT_REDIS_URL or SALLYPORT_REDIS_URL_FILE"
        )
    }
}

extension SettingsOrigin {
    fileprivate var isVariable: Bool {
        if case .environment = self { true } else { false }
    }
}
