import Vocabulary

extension SettingsBuilder {
    // MARK: Identity

    /// Fields that cannot carry an identity, because HTTP, proxies or the gateway use them.
    private static let reservedFields: Set<String> = [
        "host", "connection", "content-length", "content-type", "content-encoding", "transfer-encoding", "te",
        "trailer",
        "upgrade", "keep-alive", "expect", "cookie", "set-cookie", "authorization", "www-authenticate", "range",
        "origin",
        "referer", "date", "via", "forwarded", "http2-settings", "accept", "x-session-token", "x-auth-assertion",
    ]
    private static let reservedPrefixes = ["proxy-", "sec-", "access-control-", "x-forwarded-", "if-"]
    /// Forwarding fields that oauth2-proxy sets. Apps behind it read them as an identity, and proxies leave them alone.
    private static let identityForwardedFields: Set<String> = [
        "x-forwarded-user", "x-forwarded-email", "x-forwarded-groups", "x-forwarded-preferred-username",
        "x-forwarded-access-token",
    ]

    mutating func setIdentity(_ identity: inout IdentitySettings, providers: [any ProviderSettings]) {
        guard let tree = self.tree.tree("identity") else { return }
        identity.delimiter = tree.text("delimiter")?.utf8.first ?? identity.delimiter
        if let headers = tree.tree("headers") { identity.fields = self.identityFields(headers, providers) }
        if let assertion = tree.tree("assertion") { identity.assertion = self.assertion(assertion) }
        if let basic = tree.tree("basic") {
            let password = self.secret("password_file", of: basic)
            if let path = basic.text("username"), let password {
                if password.bytes.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
                    self.report(
                        basic.place(of: "password_file"),
                        found: "a password with control characters",
                        allowed: "a password on one line (RFC 7617)",
                        fix: "remove the line ends from the file"
                    )
                }
                identity.basic = IdentitySettings.BasicAuth(usernamePath: path, password: password)
            } else if basic["username"] == nil {
                self.reportMissing(
                    basic.place(of: "username"),
                    TextRule.sessionPath.allowed,
                    "add the path to the user's name in the session"
                )
            }
        }
    }

    private mutating func identityFields(
        _ headers: SettingsTree,
        _ providers: [any ProviderSettings]
    ) -> [IdentitySettings.Field] {
        var names: [String: SettingsOrigin] = [:]
        var fields: [IdentitySettings.Field] = []
        for (name, setting) in headers.entries {
            // CGI and WSGI apps read every byte of a name that is not a letter or digit as `_`.
            let folded = String(decoding: name.lowercased().utf8.map { $0.isAlphanumeric ? $0 : 0x2D }, as: UTF8.self)
            let place = headers.place(of: name)
            let isReserved =
                Self.reservedFields.contains(folded)
                || Self.reservedPrefixes.contains { folded.hasPrefix($0) }
                    && !Self.identityForwardedFields.contains(folded)
            if isReserved {
                self.report(
                    place,
                    found: "a reserved field",
                    allowed: "a field that HTTP, proxies and the gateway do not use",
                    fix: Self.substitute(for: folded) ?? "choose a name such as X-Auth-\(name)"
                )
            }
            if let earlier = names.updateValue(place.origin, forKey: folded) {
                self.report(
                    place,
                    found: "the field a second time in another spelling",
                    allowed: "each field once; letter case is ignored, and characters such as _ . ! equal -",
                    fix: "remove one: the other is at \(earlier)"
                )
            }
            guard case .text(let path) = setting.value else { continue }
            self.checkToken(path, place, providers)
            fields.append(IdentitySettings.Field(name: name, path: path))
        }
        if headers.entries.isEmpty, !self.isPartial {
            self.report(
                headers.place,
                found: "an empty mapping",
                allowed: "one field or more",
                fix: "add a field, or remove the key for the preset's"
            )
        }
        return fields
    }

    /// Returns what to use instead of a reserved field; `nil` if nothing replaces it.
    private static func substitute(for field: String) -> String? {
        switch field {
        case "authorization": "use identity.basic"
        case "x-auth-assertion": "use identity.assertion"
        default: nil
        }
    }

    // MARK: ASN

    mutating func asn() -> ASNSettings? {
        guard let tree = self.tree.tree("asn") else { return nil }
        let database = self.readablePath("database", of: tree)
        let csv = self.readablePath("csv", of: tree)
        if (tree["database"] == nil) == (tree["csv"] == nil), !(self.isPartial && tree["csv"] == nil) {
            self.report(
                tree.place,
                found: tree["csv"] == nil ? "neither database nor csv" : "both database and csv",
                allowed: "exactly one of database and csv",
                fix: tree["csv"] == nil ? "add one, or remove asn" : "remove one"
            )
        }
        return database.map { .database(path: $0) } ?? csv.map { .csv(path: $0) }
    }

    /// Reports bindings to networks if `asn` is missing, because unknown networks never match.
    mutating func checkBindings() {
        guard self.tree["asn"] == nil else { return }
        var uses: [(tree: SettingsTree, name: String)] = []
        for transfer in self.tree.trees("clients").compactMap({ $0.tree("session_transfer") }) {
            uses.append((transfer, "enforce_device_binding"))
            if let delegation = transfer.tree("delegation"), delegation.boolean("allow_delegated_access") == true {
                uses.append((delegation, "enforce_device_binding"))
            }
        }
        uses += self.writtenRoutes().map { ($0, "binding") }
        for (tree, name) in uses {
            guard let word = tree.text(name), BindingMode(rawValue: word)?.comparesNetworks == true else { continue }
            let place = tree.place(of: name)
            self.report(
                place,
                found: "\(quoted(word)) without the key asn",
                allowed: "none or ip; asn, ip_dual_stack and ip_or_asn need the key asn",
                fix: "add asn.database or asn.csv, or write ip at \(place.key)"
            )
        }
    }

    // MARK: Limits, logs

    mutating func check(_ limits: LimitSettings) {
        guard let tree = self.tree.tree("limits") else { return }
        if limits.field > limits.fields {
            self.report(
                tree.place(of: "field", or: "fields"),
                found:
                    "\(Quantity.text(bytes: limits.field)), more than fields (\(Quantity.text(bytes: limits.fields)))",
                allowed: "at most limits.fields",
                fix: "write a smaller field, or larger fields"
            )
        }
    }

    mutating func setLogs(_ logs: inout LogSettings) {
        guard let tree = self.tree.tree("log") else { return }
        logs.auditRefusesWhenFull = tree.text("audit_on_full") == "refuse"
        if !logs.audit, logs.auditRefusesWhenFull {
            self.report(
                tree.place(of: "audit_on_full"),
                found: "refuse, but log.audit is false",
                allowed: "refuse only with log.audit",
                fix: "set log.audit: true, or remove the key"
            )
        }
    }

    /// Sets the body limits of routes. A route without its own limit gets `limits.body`.
    func setBodyLimits(_ settings: inout Settings) {
        var written = self.writtenRoutes()[...]
        for host in settings.hosts.indices {
            for route in settings.hosts[host].routes.indices {
                let own = written.popFirst()?.size("max_body")
                settings.hosts[host].routes[route].maxBody = own ?? settings.limits.body
            }
        }
    }
}
