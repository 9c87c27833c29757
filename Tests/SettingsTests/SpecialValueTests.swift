import Settings
import Testing

/// Values that are documented to mean something of their own: `none`, `off`, `never`, 0.
@Suite("Special values of keys") struct SpecialValueTests {
    /// A special value of a key, and one that means something else.
    struct Case {
        var path: String
        var value: String
        var other: String
    }

    private static let words = ["none", "off", "never", "unlimited"]

    /// The special values that the kind of a key allows.
    private static func values(of kind: SettingKind) -> [(value: String, other: String)] {
        switch kind {
        case .size(let range, let orNone):
            let most = "\(range.upperBound)"
            return (orNone ? [("none", most)] : []) + (range.contains(0) ? [("0", most)] : [])
        case .integer(let range):
            return range.contains(0) ? [("0", "\(range.upperBound)")] : []
        case .duration(let range):
            return range.contains(.zero) ? [("0s", "\(range.upperBound.components.seconds)s")] : []
        case .choice(let choices):
            return choices.filter(self.words.contains).compactMap { word in
                choices.first { !self.words.contains($0) }.map { (word, $0) }
            }
        case .shorthand(let name, let section):
            return section[name].map { self.values(of: $0.kind) } ?? []
        case .text(let rule) where rule.allowed.hasSuffix("or none"),
            .secret(let rule) where rule.allowed.hasSuffix("or none"):
            return [("none", "http://proxy.example.com:3128")]
        default:
            return []
        }
    }

    private static func settings(_ path: String, _ value: String) -> Result<LoadedSettings, SettingsFailure> {
        let environment = ReferenceFileTests.needed.first { path.hasPrefix($0.path) }?.environment ?? [:]
        let steps = path.split(separator: ".").map(String.init)
        return SettingsBench(environment: environment).load(ReferenceFileTests.file(steps, value: value))
    }

    @Test("A special value that is documented is not the same as any other one")
    func areNotIgnored() throws {
        var checked: Set<String> = []
        for (path, key) in Section.file.allKeys()
        where !path.hasPrefix("hosts[]") && !ReferenceFileTests.isRepeated(path) {
            for (value, other) in Self.values(of: key.kind) {
                let special = Result { try Self.settings(path, value).get().settings }
                let usual = Result { try Self.settings(path, other).get().settings }
                guard let special = try? special.get(), let usual = try? usual.get() else {
                    Issue.record("\(path): \(value) or \(other) is refused: \(special) \(usual)")
                    continue
                }
                #expect(special != usual, "\(path): \(value) is \(other)")
                checked.insert(path)
            }
            // What the sentence about a key says of a word or of 0, the key must allow.
            for word in Self.words + ["0"] where key.purpose.contains("\(word): ") {
                #expect(
                    Self.values(of: key.kind).contains { $0.value == word || $0.value == "\(word)s" },
                    "\(path): \(word)"
                )
            }
        }
        #expect(checked.isSuperset(of: ["routes[].max_body", "limits.body", "limits.connections_per_address"]))
    }

    @Test("A route's limit takes the place of the general one, also where it is none", arguments: ["1KiB", "none"])
    func bodyLimits(general: String) {
        let file =
            "routes: [{path: /a, max_body: none}, {path: /b, max_body: 2KiB}, {path: /c}]\nlimits: {body: \(general)}\n"
        let limits = SettingsBench().settings(adding: file)?.hosts[0].routes.map(\.maxBody)
        #expect(limits == [nil, 2048, general == "none" ? nil : 1024])
    }
}
