import RequestPath
import Settings
import Vocabulary

/// The names of fields that a client must not choose for the app.
extension ProxyPlan {
    /// Names that the proxy sets itself for the app.
    private static let forwarded = ["for", "proto", "host"].map { "x-forwarded-\($0)" }

    /// Names by which a client asks the app to read another method than the one that was judged.
    private static let methodOverrides = FieldNames.requestRoles.filter { $0.1 == .methodOverride }.map(\.0)

    /// The names of method overrides, where some route is for certain methods only; else they are for the app.
    private var overrides: [String] {
        self.settings.hosts.contains { $0.routes.contains { !$0.methods.isEmpty } } ? Self.methodOverrides : []
    }

    /// Names of fields that the app must not get from a client, for proxies that cannot remove fields by a pattern.
    /// Fields of the identity are not among them: they are set or removed.
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

    /// A regular expression of all such names, those of the identity among them, in every spelling that an app may take for
    /// one; letters are lower-case. `X-Forwarded-For` itself is not among them, which the proxy writes.
    var removedPattern: String { Self.whole(self.names(forwarded: Self.forwardedPattern)) }

    /// The same in several expressions, for HAProxy, which reads no line of more than 2,047 bytes.
    var removedPatterns: [String] { Self.parts(of: self.names(forwarded: Self.forwardedPattern)).map(Self.whole) }

    /// A regular expression of a `Connection` field that names one of them: what it names ends at the next hop, so a client
    /// could keep from the app who acts for it (CVE-2024-45410).
    var hopPattern: String { Self.element(self.names(forwarded: Self.anyForwarded)) }

    /// The same in several expressions, for HAProxy.
    var hopPatterns: [String] { Self.parts(of: self.names(forwarded: Self.anyForwarded)).map(Self.element) }

    /// Stands for `-` in a spelling, as in `ManagedNames`, where a longer name may go on with a letter: `X-Authorization` and
    /// `Remotely` are the app's own.
    private static let separator = "[^a-z0-9]"

    /// `X-Forwarded`, and everything that begins with `X-Forwarded-`.
    static let anyForwarded = "x.forwarded(\(separator).*)?"

    private static func whole(_ names: [String]) -> String { "^(\(names.joined(separator: "|")))$" }

    private static func element(_ names: [String]) -> String {
        #"(^|[\s,])(\#(names.joined(separator: "|")))([\s,]|$)"#
    }

    /// The names in order, in parts that are short enough for one line.
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

    /// The same but `X-Forwarded-For` in that spelling: no expression of these proxies can look ahead.
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
