import Endpoints

#if canImport(Glibc)
import Glibc
#endif

/// What a field means to the gateway. A field that it does not know is `other` and is forwarded.
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
    // What a trusted proxy says about the client; always replaced by the gateway's own fields.
    case forwardedFor, forwarded, requestID
    // Asks the app to treat the request as one with another method.
    case methodOverride
    // For the log.
    case userAgent, referer
    // A native app's WebView announces itself to the gateway (`NativeChallenge`); never forwarded.
    case native
    // An identity or forwarding field in any spelling: the client's is always removed.
    case managed
    // Of a response only.
    case location, setCookie, cacheControl, vary, authenticate, contentType

    /// Hop-by-hop fields are not forwarded, even where `Connection` does not name them.
    @inline(__always)
    package var isHopByHop: Bool {
        self.rawValue >= FieldRole.connection.rawValue && self.rawValue <= FieldRole.http2Settings.rawValue
    }

    /// A second field of this name is refused with 400, because two readers could pick different ones.
    @inline(__always)
    package var isSingleton: Bool {
        switch self {
        case .host, .contentLength, .transferEncoding, .expect, .authorization, .cookie, .sessionToken, .dpop, .origin,
            .fetchSite, .fetchMode, .fetchDest, .upgrade, .contentType:
            true
        default: false
        }
    }
}

/// Finds the role of a field by its normalised name (`ByteClass.normalizedToken`) with one hash and one comparison.
///
/// Two spellings that a CGI app maps to one variable are one name here (CVE-2025-64484).
package final class FieldNames: @unchecked Sendable {
    // Immutable after init. The pointers are freed in deinit.
    private struct Entry {
        var hash: UInt32
        var role: FieldRole
        var count: UInt8
        var name: UnsafePointer<UInt8>
    }

    private let slots: UnsafeMutablePointer<Entry?>
    private let mask: Int
    private let prefixes: [[UInt8]]
    private var storage: [UnsafeMutablePointer<UInt8>] = []

    /// The longest name that can have a role; the parser keeps that many normalised bytes.
    package static let longestName = 64
    package static let hashSeed: UInt32 = 2_166_136_261

    @inline(__always)
    package static func hash(_ hash: UInt32, _ byte: UInt8) -> UInt32 {
        (hash ^ UInt32(byte)) &* 16_777_619
    }

    /// - Parameters:
    ///   - roles: Lower-case names and their meanings.
    ///   - managedNames: Normalised names that only the gateway may set.
    ///   - managedPrefixes: Normalised prefixes of such names, e.g. `x-auth-`.
    package init(roles: [(String, FieldRole)], managedNames: [String], managedPrefixes: [String]) {
        var wanted: [String: FieldRole] = [:]
        for name in managedNames { wanted[name] = .managed }
        for (name, role) in roles { wanted[name] = role }
        var capacity = 64
        while capacity < wanted.count * 4 { capacity *= 2 }
        self.slots = .allocate(capacity: capacity)
        self.slots.initialize(repeating: nil, count: capacity)
        self.mask = capacity - 1
        self.prefixes = managedPrefixes.map { Array($0.utf8) }
        for (name, role) in wanted where name.utf8.count <= Self.longestName {
            let copy = UnsafeMutablePointer<UInt8>.allocate(capacity: name.utf8.count)
            var hash = Self.hashSeed
            for (index, byte) in name.utf8.enumerated() {
                copy[index] = byte
                hash = Self.hash(hash, byte)
            }
            self.storage.append(copy)
            var slot = Int(hash) & self.mask
            while self.slots[slot] != nil { slot = (slot + 1) & self.mask }
            self.slots[slot] = Entry(hash: hash, role: role, count: UInt8(name.utf8.count), name: UnsafePointer(copy))
        }
    }

    deinit {
        self.slots.deallocate()
        for copy in self.storage { copy.deallocate() }
    }

    /// The role of the normalised name of `count` bytes whose hash is `hash`.
    @inline(__always)
    package func role(_ name: UnsafePointer<UInt8>, _ count: Int, _ hash: UInt32) -> FieldRole {
        var slot = Int(hash) & self.mask
        while let entry = self.slots[slot] {
            if entry.hash == hash, Int(entry.count) == count, memcmp(entry.name, name, count) == 0 { return entry.role }
            slot = (slot &+ 1) & self.mask
        }
        for prefix in self.prefixes where count >= prefix.count && prefix[0] == name[0] {
            if prefix.withUnsafeBufferPointer({ memcmp($0.baseAddress!, name, $0.count) }) == 0 { return .managed }
        }
        return .other
    }

    /// The role of a name in any spelling. Used for names in `Connection`, not for every field.
    package func role(of name: UnsafeBufferPointer<UInt8>) -> FieldRole {
        guard name.count <= Self.longestName else { return .other }
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Self.longestName) { normalized in
            var hash = Self.hashSeed
            for (index, byte) in name.enumerated() {
                let lower = ByteClass.normalizedToken[Int(byte)]
                normalized[index] = lower
                hash = Self.hash(hash, lower)
            }
            return self.role(UnsafePointer(normalized.baseAddress!), name.count, hash)
        }
    }

    /// The names in a request that the gateway interprets.
    package static let requestRoles: [(String, FieldRole)] = [
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
        (NativeChallenge.field, .native),
    ]

    /// The names in a response that the gateway interprets.
    package static let responseRoles: [(String, FieldRole)] = [
        ("content-length", .contentLength), ("transfer-encoding", .transferEncoding), ("connection", .connection),
        ("keep-alive", .keepAlive), ("proxy-connection", .proxyConnection), ("te", .te), ("trailer", .trailer),
        ("upgrade", .upgrade), ("location", .location), ("set-cookie", .setCookie), ("cache-control", .cacheControl),
        ("vary", .vary), ("www-authenticate", .authenticate), ("content-type", .contentType),
        ("x-request-id", .requestID),
    ]
}
