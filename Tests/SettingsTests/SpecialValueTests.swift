import Foundation
import Settings
import Testing

/// Values that are documented to mean something of their own: `none`, `off`, `never`, 0.
@Suite("Special values of keys") struct SpecialValueTests {
    private static let words = ["none", "off", "never", "unlimited"]

    /// The special values that the kind of a key allows, each with others that mean something else.
    private static func values(of kind: SettingKind) -> [(value: String, others: [String])] {
        // The largest value, as an operator writes it.
        let most = kind.range?.components(separatedBy: " to ").dropFirst() ?? []
        switch kind {
        case .size(let range, let orNone):
            return (orNone ? [("none", Array(most))] : []) + (range.contains(0) ? [("0", Array(most))] : [])
        case .integer(let range):
            return range.contains(0) ? [("0", Array(most))] : []
        case .duration(_, orOff: true):
            return [("off", Array(most))]
        case .duration(let range, _):
            return range.contains(.zero) ? [("0s", Array(most))] : []
        case .choice(let choices):
            return choices.filter(self.words.contains).map { word in (word, choices.filter { $0 != word }) }
        case .shorthand(let name, let section):
            return section[name].map { self.values(of: $0.kind) } ?? []
        case .text(let rule) where rule.allowed.hasSuffix("or none"),
            .secret(let rule) where rule.allowed.hasSuffix("or none"):
            return [("none", ["http://proxy.example.com:3128"])]
        default:
            return []
        }
    }

    /// The settings with a value for one key; nil: it needs more beside it than every file has.
    private static func settings(_ path: String, _ value: String) -> Settings? {
        let own = "SALLYPORT_" + path.uppercased().replacing(".", with: "_")
        let needed = ReferenceFileTests.needed.first { path.hasPrefix($0.path) }?.environment ?? [:]
        // A variable would take the place of the value.
        let environment = needed.filter { $0.key != own }
        let steps = path.split(separator: ".").map(String.init)
        let text = ReferenceFileTests.file(steps, value: value)
        return try? SettingsBench(environment: environment).load(text).get().settings
    }

    @Test("A special value that is documented is not the same as any other one")
    func areNotIgnored() throws {
        var checked: Set<String> = []
        for (path, key) in Section.file.allKeys()
        where !path.hasPrefix("hosts[]") && !ReferenceFileTests.isRepeated(path) {
            for (value, others) in Self.values(of: key.kind) {
                guard let special = Self.settings(path, value) else { continue }
                for other in others {
                    guard let usual = Self.settings(path, other) else { continue }
                    let isSame = special == usual
                    #expect(!isSame, "\(path): \(value) is \(other)")
                    checked.insert(path)
                }
            }
            // What the sentence about a key says of a word or of 0, the key must allow.
            for word in Self.words + ["0"] where key.purpose.split(separator: " ").contains("\(word):") {
                #expect(
                    Self.values(of: key.kind).contains { $0.value == word || $0.value == "\(word)s" },
                    "\(path): \(word)"
                )
            }
        }
        #expect(checked.isSuperset(of: ["routes[].max_body", "limits.body", "limits.connections_per_address"]))
        #expect(checked.count > 12, "\(checked.sorted())")
    }

    @Test("A route's limit takes the place of the general one, also where it is none", arguments: ["1KiB", "none"])
    func bodyLimits(general: String) {
        let file =
            "routes: [{path: /a, max_body: none}, {path: /b, max_body: 2KiB}, {path: /c}]\nlimits: {body: \(general)}\n"
        let limits = SettingsBench().settings(adding: file)?.hosts[0].routes.map(\.maxBody)
        #expect(limits == [nil, 2048, general == "none" ? nil : 1024])
    }
}
