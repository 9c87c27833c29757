import RequestPath
import Settings
import Vocabulary

/// The names of fields that a client must not set for the app.
extension ProxyPlan {
    /// Fields that the proxy sets for the app.
    private static let forwarded = ["for", "proto", "host"].map { "x-forwarded-\($0)" }

    /// Fields that ask the app to use a method other than the request's, such as `X-HTTP-Method-Override`.
    private static let methodOverrides = FieldNames.requestRoles.filter { $0.1 == .methodOverride }.map(\.0)

    /// The fields of `methodOverrides`. Empty if no route is limited to certain methods: the app may then get them.
    private var overrides: [String] {
        self.settings.hosts.contains { $0.routes.contains { !$0.methods.isEmpty } } ? Self.methodOverrides : []
    }

    /// Fields that the app must not receive from a client, for proxies that cannot remove fields by a pattern. Identity
    /// fields are not included, because they are set or removed anyway.
    var removedNames: [String] {
        let presets = IdentitySettings.Preset.allCases.flatMap { preset in
            var identity = IdentitySettings()
            identity.preset = preset
            return IdentityProfile(identity).fields.map(\.name)
        }
        let names = self.managed.names + ManagedNames.believed + self.overrides
        let all = Set((names + presets + [AssertionSigner.field]).map { $0.lowercased() })
        return all.subtracting(self.fields.map { $0.lowercased() }).subtracting(Self.forwarded).sorted()
    }

    /// A regular expression for all fields that the app must not receive from a client, including identity fields, in
    /// every spelling that an app may accept. Letters are lower-case. `X-Forwarded-For` is excluded: the proxy sets it.
    var removedPattern: String { Self.whole(self.names(forwarded: Self.forwardedPattern)) }

    /// The parts of `removedPattern` as separate expressions. HAProxy reads at most 2,047 bytes per line.
    var removedPatterns: [String] { Self.parts(of: self.names(forwarded: Self.forwardedPattern)).map(Self.whole) }

    /// A regular expression for a `Connection` field that lists a protected field. Proxies drop the listed fields, so a
    /// client could hide from the app that somebody else acts for the user (CVE-2024-45410).
    var hopPattern: String { Self.element(self.names(forwarded: Self.anyForwarded)) }

    /// The parts of `hopPattern` as separate expressions, for HAProxy.
    var hopPatterns: [String] { Self.parts(of: self.names(forwarded: Self.anyForwarded)).map(Self.element) }

    /// An expression for any spelling of `-`, as in `ManagedNames`. It matches no letters and digits, because
    /// `X-Authorization` and `Remotely` belong to the app.
    private static let separator = "[^a-z0-9]"

    /// An expression for `X-Forwarded` and all names that begin with `X-Forwarded-`.
    static let anyForwarded = "x.forwarded(\(separator).*)?"

    private static func whole(_ names: [String]) -> String { "^(\(names.joined(separator: "|")))$" }

    private static func element(_ names: [String]) -> String {
        #"(^|[\s,])(\#(names.joined(separator: "|")))([\s,]|$)"#
    }

    /// Divides the names into parts that fit into one line each.
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

    /// An expression for the names of `anyForwarded` except `x-forwarded-for`. Not every proxy supports look-ahead.
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
