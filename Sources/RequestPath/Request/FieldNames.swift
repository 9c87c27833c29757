import Endpoints
import Glibc

/// The meaning of a field for the gateway. A field that the gateway does not know is `other`.
package enum FieldRole: UInt8, Sendable {
    case other = 0
    // Framing and routing.
    case host, contentLength, transferEncoding, expect
    // Hop by hop (RFC 9110 7.6.1): never forwarded.
    case connection, keepAlive, proxyConnection, proxyAuthorization, te, trailer, upgrade, http2Settings
    // Credentials.
    case authorization, cookie, sessionToken, dpop
    // What the browser says about the request.
    case origin, fetchSite, fetchMode, fetchDest, purpose, accept, preflightMethod, preflightHeaders
    // What a page's script says about the request (`ScriptField`).
    case script
    // What a trusted proxy says about the client. These fields are always removed. The gateway sends its own, except
    // `Forwarded`.
    case forwardedFor, forwarded, requestID
    // The request arrived before the TLS handshake had ended, so it may be a replay (RFC 8470 5.1).
    case earlyData
    // Asks the app to treat the request as if it had another method.
    case methodOverride
    // For the log.
    case userAgent, referer
    // The trace of the request (W3C Trace Context).
    case traceParent, traceState
    // Announces a native app's WebView to the gateway (`NativeChallenge`). Never forwarded.
    case native
    // The user's address, which a client's server sends to the token endpoint. Never forwarded.
    case userAddress
    // The page that a browser requested from another proxy, in the field that oauth2-proxy uses. Never forwarded.
    case wantedPage
    // WebDAV references to resources of the app (RFC 4918 10.3, 10.4).
    case destination, condition
    // An identity or forwarding field in any spelling. The client's field is always removed.
    case managed
    // In responses, and `contentType` also in requests.
    case location, setCookie, cacheControl, vary, authenticate, contentType
    // Cache lifetimes that apply to shared caches only.
    case sharedCacheControl
    /// The time when the answer was created.
    case date
    // References to resources of the app: the whole value, the references in `Link`, and the reference in `Refresh`.
    case reference, link, refresh

    /// Whether the field is hop-by-hop. Hop-by-hop fields are never forwarded.
    @inline(__always)
    package var isHopByHop: Bool {
        self.rawValue >= FieldRole.connection.rawValue && self.rawValue <= FieldRole.http2Settings.rawValue
    }

    /// Whether the field is part of W3C Trace Context.
    @inline(__always)
    var isOfTrace: Bool { self == .traceParent || self == .traceState }

    /// Whether a second field of this name is rejected with 400, because two readers could use different values.
    @inline(__always)
    package var isSingleton: Bool {
        switch self {
        case .host, .contentLength, .transferEncoding, .expect, .authorization, .sessionToken, .dpop, .origin,
            .fetchSite,
            .fetchMode, .fetchDest, .upgrade, .contentType, .destination:
            true
        default: false
        }
    }
}

/// The name at the start of a field line.
struct FieldName {
    var count: Int
    var role: FieldRole
    /// Whether the name contains a token byte other than a letter, a digit or `-`. Some apps treat the byte as `-`.
    var isAlias = false
    var hasUnderscore = false
}

/// Finds the role of a field by its name.
///
/// Spellings that a CGI app maps to one variable are one name (CVE-2025-64484). Names of letters, digits and hyphens
/// are normalised eight bytes at a time, other names byte by byte.
package final class FieldNames: @unchecked Sendable {
    /// The length of a name and its first and last 8 bytes in lower case. They identify a name of up to 16 bytes.
    private struct Key: Equatable {
        var count = 0
        var first: UInt64 = 0
        var last: UInt64 = 0

        init() {}

        @inline(__always)
        init(_ name: Bytes, _ count: Int) {
            self.count = count
            if count >= 8 {
                self.first = FieldNames.lowercased(ByteWord.load(name))
                self.last = FieldNames.lowercased(ByteWord.load(name + (count &- 8)))
            } else {
                self.first = FieldNames.lowercased(ByteWord.load(name, count))
            }
        }

        @inline(__always)
        var hash: Int {
            let sum = self.first ^ self.last &* 0xFF51_AFD7_ED55_8CCD ^ UInt64(truncatingIfNeeded: self.count)
            return Int(truncatingIfNeeded: sum &* 0x9E37_79B9_7F4A_7C15 &>> 32)
        }
    }

    private struct Slot {
        var key = Key()
        var role = FieldRole.other
        /// The normalised name. `nil` if the slot is free.
        var name: UnsafeMutablePointer<UInt8>?
    }

    // Immutable after init. The memory is freed in deinit.
    private let slots: UnsafeMutablePointer<Slot>
    private let mask: Int
    private let prefixes: [[UInt8]]
    /// The bit `byte & 63` is set for the first byte of each prefix.
    private let prefixStarts: UInt64

    /// The length of the longest name with a role in the table. A longer name can only match a managed prefix.
    package static let longestName = 64

    /// - Parameters:
    ///   - roles: Lower-case names and their meanings.
    ///   - managedNames: Normalised names that only the gateway may set.
    ///   - managedPrefixes: Normalised prefixes of names that only the gateway may set, e.g. `x-auth-`.
    package init(roles: [(String, FieldRole)], managedNames: [String], managedPrefixes: [String]) {
        var wanted: [String: FieldRole] = [:]
        for name in managedNames { wanted[name] = .managed }
        for (name, role) in roles { wanted[name] = role }
        var capacity = 64
        while capacity < wanted.count * 4 { capacity *= 2 }
        self.slots = .allocate(capacity: capacity)
        self.slots.initialize(repeating: Slot(), count: capacity)
        self.mask = capacity - 1
        self.prefixes = managedPrefixes.map { Array($0.utf8) }
        precondition(self.prefixes.allSatisfy { (1...Self.longestName).contains($0.count) })
        self.prefixStarts = self.prefixes.reduce(0) { $0 | Self.startBit($1[0]) }
        for (name, role) in wanted where name.utf8.count <= Self.longestName {
            let copy = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: name.utf8.count)
            _ = copy.initialize(from: name.utf8)
            guard let start = copy.baseAddress else { continue }
            let key = Key(start, copy.count)
            var index = key.hash & self.mask
            while self.slots[index].name != nil { index = (index + 1) & self.mask }
            self.slots[index] = Slot(key: key, role: role, name: start)
        }
    }

    deinit {
        for index in 0...self.mask { self.slots[index].name?.deallocate() }
        self.slots.deallocate()
    }

    // MARK: Field lines

    /// Returns the name at the start of a field line. Returns `nil` if the line does not start with a name and a colon.
    ///
    /// - Parameter count: The length of the line including its CRLF.
    @inline(__always)
    func name(of line: Bytes, _ count: Int) -> FieldName? {
        let length = ByteClass.nameLength(line, count, besides: 0x2D)
        guard length > 0, line[length] == 0x3A else { return self.unusualName(of: line) }
        return FieldName(count: length, role: self.role(line, length))
    }

    /// Returns a name with any token bytes. Returns `nil` if the line does not start with a name and a colon.
    @inline(never)
    private func unusualName(of line: Bytes) -> FieldName? {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Self.longestName) { normalized in
            var name = FieldName(count: 0, role: .other)
            while true {
                let byte = line[name.count]
                let lower = ByteClass.normalizedToken[Int(byte)]
                if lower == 0 { break }
                if lower == 0x2D, byte != 0x2D {
                    name.isAlias = true
                    if byte == 0x5F { name.hasUnderscore = true }
                }
                if name.count < normalized.count { normalized[name.count] = lower }
                name.count &+= 1
            }
            guard name.count > 0, line[name.count] == 0x3A, let start = normalized.baseAddress else { return nil }
            name.role = self.role(start, name.count)
            return name
        }
    }

    // MARK: Roles

    /// Returns the role of a name of letters, digits and hyphens. If `count` exceeds `longestName`, only the first
    /// `longestName` bytes are needed.
    @inline(__always)
    package func role(_ name: Bytes, _ count: Int) -> FieldRole {
        if count <= Self.longestName {
            let key = Key(name, count)
            var index = key.hash & self.mask
            while let known = self.slots[index].name {
                if self.slots[index].key == key, count <= 16 || Self.isSame(known, name, count) {
                    return self.slots[index].role
                }
                index = (index &+ 1) & self.mask
            }
        }
        return self.prefixStarts & Self.startBit(name[0]) == 0 ? .other : self.roleByPrefix(name, count)
    }

    @inline(never)
    private func roleByPrefix(_ name: Bytes, _ count: Int) -> FieldRole {
        for prefix in self.prefixes where count >= prefix.count {
            var index = 0
            while index < prefix.count, name[index] | 0x20 == prefix[index] { index &+= 1 }
            if index == prefix.count { return .managed }
        }
        return .other
    }

    /// Whether two names of more than 16 bytes with equal keys also have equal bytes in the middle, outside of the key.
    private static func isSame(_ known: Bytes, _ name: Bytes, _ count: Int) -> Bool {
        var index = 8
        while index < count &- 8 {
            if ByteWord.load(known + index) != self.lowercased(ByteWord.load(name + index)) { return false }
            index &+= 8
        }
        return true
    }

    /// Sets bit 0x20, which turns letters into lower case. Digits and hyphens already have this bit.
    @inline(__always)
    private static func lowercased(_ word: UInt64) -> UInt64 { word | ByteWord.repeating(0x20) }

    @inline(__always)
    private static func startBit(_ byte: UInt8) -> UInt64 { 1 &<< UInt64(truncatingIfNeeded: (byte | 0x20) & 63) }

    /// Returns the role of a name in any spelling, or `other` if it is longer than `longestName`. Used for single names
    /// (as in `Connection`), not for every field.
    package func role(of name: UnsafeBufferPointer<UInt8>) -> FieldRole {
        guard name.count <= Self.longestName else { return .other }
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Self.longestName) { normalized in
            guard let start = normalized.baseAddress, !name.isEmpty else { return .other }
            for (index, byte) in name.enumerated() { normalized[index] = ByteClass.normalizedToken[Int(byte)] }
            return self.role(start, name.count)
        }
    }

    /// The names that the gateway interprets in a request.
    package static let requestRoles: [(String, FieldRole)] =
        FieldNames.ownRequestRoles + ScriptField.names.map { ($0, .script) }

    private static let ownRequestRoles: [(String, FieldRole)] = [
        ("host", .host), ("content-length", .contentLength), ("transfer-encoding", .transferEncoding),
        ("expect", .expect), ("connection", .connection), ("keep-alive", .keepAlive),
        ("proxy-connection", .proxyConnection), ("proxy-authorization", .proxyAuthorization), ("te", .te),
        ("trailer", .trailer), ("upgrade", .upgrade), ("http2-settings", .http2Settings),
        ("authorization", .authorization), ("cookie", .cookie), ("x-session-token", .sessionToken), ("dpop", .dpop),
        ("origin", .origin), ("sec-fetch-site", .fetchSite), ("sec-fetch-mode", .fetchMode),
        ("sec-fetch-dest", .fetchDest), ("sec-purpose", .purpose), ("purpose", .purpose), ("x-purpose", .purpose),
        ("x-moz", .purpose), ("accept", .accept), ("access-control-request-method", .preflightMethod),
        ("access-control-request-headers", .preflightHeaders), ("x-forwarded-for", .forwardedFor),
        ("forwarded", .forwarded), ("x-request-id", .requestID), ("user-agent", .userAgent), ("referer", .referer),
        ("content-type", .contentType), ("x-http-method-override", .methodOverride),
        ("x-http-method", .methodOverride), ("x-method-override", .methodOverride),
        ("destination", .destination), ("if", .condition), ("early-data", .earlyData), ("traceparent", .traceParent),
        ("tracestate", .traceState),
        (NativeChallenge.field, .native), (UserAddressField.name, .userAddress),
        (WantedPageField.name, .wantedPage),
    ]

    /// The names that the gateway interprets in a response.
    package static let responseRoles: [(String, FieldRole)] =
        FieldNames.ownResponseRoles + FieldNames.references.map { ($0, .reference) }

    /// Response fields whose value is a reference that a browser, a script or a tool follows: the fields of RFC 9110
    /// 8.7, source maps, htmx, Turbolinks, PJAX and Inertia.
    private static let references = [
        "content-location", "sourcemap", "x-sourcemap", "hx-location", "hx-push-url", "hx-redirect", "hx-replace-url",
        "turbolinks-location", "x-pjax-url", "x-inertia-location",
    ]

    private static let ownResponseRoles: [(String, FieldRole)] = [
        ("content-length", .contentLength), ("transfer-encoding", .transferEncoding), ("connection", .connection),
        ("keep-alive", .keepAlive), ("proxy-connection", .proxyConnection), ("te", .te), ("trailer", .trailer),
        ("upgrade", .upgrade), ("location", .location), ("set-cookie", .setCookie), ("cache-control", .cacheControl),
        ("vary", .vary), ("www-authenticate", .authenticate), ("content-type", .contentType),
        ("x-request-id", .requestID), ("surrogate-control", .sharedCacheControl),
        ("edge-control", .sharedCacheControl), ("x-accel-expires", .sharedCacheControl), ("date", .date),
        ("link", .link), ("refresh", .refresh),
    ]

    // MARK: Fields that trailers must not contain

    /// Fields that belong to one connection (RFC 9110 7.6.1, 11.7).
    static let ofConnections = [
        "connection", "expect", "http2-settings", "keep-alive", "proxy-authenticate", "proxy-authentication-info",
        "proxy-authorization", "proxy-connection", "te", "trailer", "trailers", "upgrade",
    ]
    /// Fields that describe the bytes of the content.
    static let ofContent = ["content-encoding", "content-length", "content-range", "transfer-encoding"]
    /// Fields that detect loops and record the hops of a message (RFC 9110 7.6, RFC 8586).
    static let ofTheWay = ["via", "max-forwards", "cdn-loop", "proxy-status"]

    /// Fields that are meaningless in trailers, in addition to the fields with a role. A trailer is too late for
    /// framing, routing, authentication and other controls of a message (RFC 9110 6.5.1).
    static let ofHeads =
        FieldNames.ofConnections + FieldNames.ofContent + FieldNames.ofTheWay + [
            "age", "allow", "alt-svc", "authentication-info", "clear-site-data", "content-disposition",
            "content-language", "content-security-policy", "content-security-policy-report-only", "cookie2", "expires",
            "if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "pragma", "prefer",
            "priority", "range", "retry-after", "set-cookie2", "status", "strict-transport-security", "warning",
            "x-content-type-options", "x-frame-options",
        ]
    /// Prefixes of fields of CORS, browser metadata and the WebSocket handshake, which are meaningless in trailers.
    static let prefixesOfHeads = ["access-control-", "cross-origin-", "sec-"]

    /// The names of trailers that make the gateway reject a request, because no client sends them by accident.
    static let refusedTrailers =
        (FieldNames.ofContent + [
            "host", "trailer", "te", "connection", "content-type", "authorization", "cookie", "set-cookie", "expect",
        ]).map { Array($0.utf8) }

    /// Whether a request with a trailer of this name is rejected.
    static func refusesTrailer(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        self.refusedTrailers.contains { own in
            own.count == name.count && zip(own, name).allSatisfy { $0 == $1 | 0x20 }
        }
    }
}
