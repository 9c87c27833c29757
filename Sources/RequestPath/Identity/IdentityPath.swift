package import Sessions
package import Vocabulary

#if canImport(Glibc)
import Glibc
#endif

/// Paths into a session, as `identity.headers` and the presets name them.
package enum IdentityPath {
    /// What a path may begin with, for messages.
    package static let roots = [
        "subject", "session.id", "identity.id", "identity.schema_id", "identity.traits.", "identity.metadata_public.",
        "aal",
        "methods", "authenticated_at", "origin", "scopes", "client_id",
    ]

    /// True when `path` can name something.
    package static func isValid(_ path: String) -> Bool {
        self.roots.contains { $0.hasSuffix(".") ? path.hasPrefix($0) && path.count > $0.count : path == $0 }
    }

    /// The value at `path`, or nil where the session has none.
    package static func value(_ path: String, of session: Session) -> JSONValue? {
        switch path {
        case "subject", "identity.id": return .string(session.subject)
        case "session.id": return .string(session.id)
        case "identity.schema_id": return .string(session.identity.schemaID)
        case "aal": return .string(session.aal)
        case "methods": return .array(session.methods.map { .string($0) })
        case "scopes": return .array(session.scopes.map { .string($0) })
        case "authenticated_at": return .string(self.timestamp(session.authenticatedAt))
        case "origin": return .string(session.origin.rawValue)
        case "client_id": return session.clientID.map { .string($0) }
        default: break
        }
        let steps = path.split(separator: ".")
        guard steps.count > 2, steps[0] == "identity" else { return nil }
        let root: JSONValue
        switch steps[1] {
        case "traits": root = session.identity.traits
        case "metadata_public": root = session.identity.metadataPublic
        default: return nil
        }
        let value = root.value(at: steps[2...])
        // Kratos's own example schema keeps the name in two parts.
        if steps[2...] == ["name"], let first = value?["first"]?.string {
            return .string([first, value?["last"]?.string].compactMap { $0 }.joined(separator: " "))
        }
        return value
    }

    /// Whether the value is a list by its meaning, so that a lone string is a list of one: a user who may edit a trait
    /// could otherwise write `staff,admin` where an app looks for groups.
    package static func isList(_ path: String) -> Bool {
        let last = path.split(separator: ".").last
        return path == "methods" || path == "scopes" || last == "groups" || last == "roles"
    }

    /// RFC 3339 in UTC, to the second.
    private static func timestamp(_ time: UnixTime) -> String {
        var seconds = time_t(time.seconds)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        func two(_ value: Int32) -> String { value < 10 ? "0\(value)" : "\(value)" }
        return "\(parts.tm_year + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))"
            + "T\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))Z"
    }
}
