import Vocabulary

extension SettingsBuilder {
    // MARK: Store

    /// Sets `store.redis`. Reports a missing `secret_file`, unless it was read (`hasSecret`).
    mutating func setStore(_ store: inout StoreSettings, hasSecret: Bool) {
        guard let tree = self.tree.tree("store"), let redis = tree.tree("redis") else { return }
        store.redis = self.redis(redis)
        guard store.redis != nil else { return }
        if tree["memory"] != nil {
            self.warnings.append("store.memory has no effect with store.redis: sessions are kept in Redis")
        }
        if !hasSecret, self.tree["secret_file"] == nil, !self.isPartial {
            self.report(
                KeyPlace(origin: redis.origin, key: "secret_file"),
                found: "nothing, but store.redis (SALLYPORT_REDIS_URL) is set",
                allowed: "a file with the secret that all gateways on this Redis share",
                fix: "make one with `sallyport keys make FILE` and add secret_file, or set SALLYPORT_SECRET_FILE"
            )
        }
    }

    private mutating func redis(_ tree: SettingsTree) -> RedisSettings? {
        guard let (url, place) = self.redisURL(tree) else { return nil }
        if let fault = self.judges.redisURL(url) {
            self.report(
                place,
                found: "a URL (not shown) that cannot be used",
                allowed: TextRule.redisURL.allowed,
                fix: "correct this: \(fault)"
            )
        }
        var redis = RedisSettings(url: url)
        tree.set(.redis, in: &redis)
        return redis
    }

    /// Returns the URL and its place. A variable takes precedence over the keys `url` and `url_file` in the file.
    private mutating func redisURL(_ tree: SettingsTree) -> (url: Secret, place: KeyPlace)? {
        let (written, file) = (tree.place(of: "url"), tree.place(of: "url_file"))
        let isBoth = tree["url"] != nil && tree["url_file"] != nil
        if isBoth, written.origin.isVariable == file.origin.isVariable {
            self.report(
                file,
                found: "both url and url_file",
                allowed: "one of them",
                fix: "remove one: the other is at \(written.origin)"
            )
            return nil
        }
        if tree["url"] != nil, !isBoth || written.origin.isVariable { return tree.secret("url").map { ($0, written) } }
        guard tree["url_file"] != nil else {
            self.reportMissing(
                written,
                TextRule.redisURL.allowed,
                "add url_file, or set SALLYPORT_REDIS_URL or SALLYPORT_REDIS_URL_FILE"
            )
            return nil
        }
        guard let content = self.secret("url_file", of: tree) else { return nil }
        // The file must contain a valid value of `url`.
        do throws(SyntaxFault) {
            _ = try TextRule.redisURL.read(String(decoding: content.bytes, as: UTF8.self))
        } catch {
            self.report(
                file,
                found: "a file without a Redis URL (not shown)",
                allowed: "a file with one line, \(TextRule.redisURL.allowed)",
                fix: error.fix
            )
            return nil
        }
        return (content, file)
    }
}

extension SettingsOrigin {
    fileprivate var isVariable: Bool {
        if case .environment = self { true } else { false }
    }
}
