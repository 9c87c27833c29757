import RequestPath
import Settings
import Vocabulary

/// The fields that an app must not receive from a client.
extension ProxyPlan {
    /// The fields that the proxy itself sets for the app.
    private static let forwarded = ["for", "proto", "host"].map { "x-forwarded-\($0)" }

    /// The fields that override the request's method in some apps, e.g. `X-HTTP-Method-Override`.
    private static let methodOverrides = FieldNames.requestRoles.filter { $0.1 == .methodOverride }.map(\.0)

    /// `methodOverrides` if any route is limited to certain methods, otherwise empty.
    private var overrides: [String] {
        self.settings.hosts.contains { $0.routes.contains { !$0.methods.isEmpty } } ? Self.methodOverrides : []
    }

    /// The fields to remove by name, for proxies that cannot remove by pattern. Without the identity fields: the proxy
    /// sets or removes these in any case.
    var removedNames: [String] {
        let presets = IdentitySettings.Preset.allCases.flatMap { preset in
            var identity = IdentitySettings()
            identity.preset = preset
            return IdentityProfile(identity).fields.map(\.name)
        }
        let names = self.managed.names + ManagedNames.wellKnown + self.overrides
        let all = Set((names + presets + [AssertionSigner.field]).map { $0.lowercased() })
        return all.subtracting(self.fields.map { $0.lowercased() }).subtracting(Self.forwarded).sorted()
    }

    /// A regular expression for the names of all fields to remove, including identity fields, in every spelling that an
    /// app may accept. Matches lower case. Does not match `X-Forwarded-For`, which the proxy sets.
    var removedPattern: String { Self.whole(self.names(forwarded: Self.forwardedPattern)) }

    /// `removedPattern`, divided into several expressions. A line in HAProxy has at most 2,047 bytes.
    var removedPatterns: [String] { Self.parts(of: self.names(forwarded: Self.forwardedPattern)).map(Self.whole) }

    /// A regular expression for a header `Connection` that lists a protected field. Proxies drop listed fields, so a
    /// client could hide from the app that somebody else acts for the user (CVE-2024-45410).
    var hopPattern: String { Self.element(self.names(forwarded: Self.anyForwarded)) }

    /// `hopPattern`, divided into several expressions for HAProxy.
    var hopPatterns: [String] { Self.parts(of: self.names(forwarded: Self.anyForwarded)).map(Self.element) }

    /// An expression for any spelling of `-`, as in `ManagedNames`. Excludes letters and digits: `Remotely` belongs to
    /// the app.
    private static let separator = "[^a-z0-9]"

    /// An expression for `X-Forwarded` and all names with the prefix `X-Forwarded-`.
    static let anyForwarded = "x.forwarded(\(separator).*)?"

    private static func whole(_ names: [String]) -> String { "^(\(names.joined(separator: "|")))$" }

    private static func element(_ names: [String]) -> String {
        #"(^|[\s,])(\#(names.joined(separator: "|")))([\s,]|$)"#
    }

    /// Divides names into parts that each fit into one line.
    private static func parts(of names: [String]) -> [[String]] {
        var parts: [[String]] = [[]]
        var count = 0
        for name in names {
            count += name.utf8.count + 1
            if count > 1500 {
                parts.append([])
                count = name.utf8.count + 1
            }
            parts[parts.count - 1].append(name)
        }
        return parts
    }

    /// Like `anyForwarded`, but without `x-forwarded-for`. Not every proxy supports look-ahead.
    private static let forwardedPattern =
        "x[^-]forwarded(\(separator).*)?|x-forwarded([^-a-z0-9].*)?|x-forwarded-([^f].*|f([^o].*)?|fo([^r].*)?|for.+)?"

    private func names(forwarded: String) -> [String] {
        func spellings(_ name: String) -> String { String(name.map { $0 == "-" ? "." : $0 }) }
        let prefixes = self.managed.prefixes.filter { $0 != "x-forwarded-" }
        let names = (self.managed.names + self.overrides).filter { name in
            name != "x-forwarded" && !name.hasPrefix("x-forwarded-") && !prefixes.contains { name.hasPrefix($0) }
        }
        return prefixes.map { spellings(String($0.dropLast())) + Self.separator + ".*" } + names.map(spellings) + [
            forwarded
        ]
    }
}
