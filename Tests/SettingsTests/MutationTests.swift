import Settings
import Testing

/// Every mistake in the reference file is refused with a line and a key, and no message shows a secret.
@Suite("Mutations of the reference file")
struct MutationTests {
    /// A line `key: value` of the reference file.
    private struct KeyLine {
        /// Starts at 0.
        var row: Int
        var indent: Int
        var isElement: Bool
        var name: String
        /// Empty where a mapping or a list follows.
        var value: String

        /// The line with another name or value.
        func text(name: String? = nil, value: String? = nil) -> String {
            let space = String(repeating: " ", count: self.indent)
            return "\(space)\(self.isElement ? "- " : "")\(name ?? self.name): \(value ?? self.value)"
        }
    }

    private let lines: [String]
    private let keys: [KeyLine]

    init() throws {
        let text = try SettingsBench.config("sallyport.reference.yaml")
            .replacing("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", with: canary)
        self.lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        self.keys = self.lines.enumerated().compactMap { row, line in
            let indent = line.prefix { $0 == " " }.count
            var body = line.dropFirst(indent)
            let isElement = body.hasPrefix("- ")
            if isElement { body = body.dropFirst(2) }
            guard !body.hasPrefix("#"), let colon = body.firstIndex(of: ":") else { return nil }
            let value = body[body.index(after: colon)...].drop { $0 == " " }
            return KeyLine(
                row: row,
                indent: indent,
                isElement: isElement,
                name: String(body[..<colon]),
                value: String(value)
            )
        }
    }

    /// Fails unless the bytes are refused. `line` (from 1) is a line that a message must name.
    private func expectRefused(_ bytes: [UInt8], naming line: Int?, _ what: String) {
        guard case .failure(let failure) = SettingsBench().load(bytes: bytes) else {
            Issue.record("accepted: \(what)")
            return
        }
        #expect(!failure.problems.isEmpty)
        for problem in failure.problems {
            #expect(problem.line ?? 0 >= 1 && problem.line ?? .max <= self.lines.count + 1, "\(what): \(problem)")
            #expect(problem.column ?? 0 >= 1, "\(what): \(problem)")
            #expect(!problem.key.isEmpty, "\(what): \(problem)")
            #expect(!problem.fix.isEmpty && !problem.allowed.isEmpty && !problem.found.isEmpty)
        }
        if let line {
            #expect(failure.problems.contains { $0.line == line }, "\(what): \(failure)")
        }
        #expect(!failure.description.contains(canary), "\(what)")
    }

    private func expectRefused(_ row: Int, replacedBy new: [String], naming line: Int?, _ what: String) {
        var lines = self.lines
        lines.replaceSubrange(row...row, with: new)
        self.expectRefused(Array(lines.joined(separator: "\n").utf8), naming: line, "\(what), line \(row + 1): \(new)")
    }

    /// Keys whose names the operator chooses.
    private func isOwnName(_ key: KeyLine) -> Bool {
        // Only the claims of an assertion have values that are paths, without the prefix of a field.
        key.name.hasPrefix("X-User") || ["reports", "shop", "company"].contains(key.name)
            || ["email", "groups"].contains(key.name) && key.value.hasPrefix("identity.traits.")
    }

    @Test("the reference file has more than 200 lines with a key")
    func areMany() {
        #expect(self.keys.count > 120)
    }

    @Test("F24: a renamed key is refused at its line")
    func renamed() {
        for key in self.keys where !self.isOwnName(key) {
            self.expectRefused(key.row, replacedBy: [key.text(name: key.name + "x")], naming: key.row + 1, "renamed")
        }
    }

    @Test("F24: a key that stands twice is refused at its second line")
    func repeated() {
        for key in self.keys {
            var second = key
            second.isElement = false
            second.indent += key.isElement ? 2 : 0
            // Inserted before the first one, so that the lines below the first stay with it.
            let lines = key.isElement ? [key.text(value: "x"), second.text()] : [key.text(value: "x"), key.text()]
            self.expectRefused(key.row, replacedBy: lines, naming: key.row + 2, "repeated")
        }
    }

    @Test("F24: a value that is out of any range is refused at its line")
    func badValues() {
        for key in self.keys where !key.value.isEmpty {
            let long = String(repeating: "x", count: 5000)
            self.expectRefused(key.row, replacedBy: [key.text(value: long)], naming: key.row + 1, "bad value")
        }
    }

    @Test("F24: a mapping, a list of lists, or nothing where a value belongs is refused at its line")
    func wrongTypes() {
        for key in self.keys {
            for value in ["{a: {b: c}}", "[[[a]]]", "~", ""] where !(key.value.isEmpty && value.isEmpty) {
                guard !key.value.isEmpty else {
                    // What followed below the key no longer has a place.
                    self.expectRefused(key.row, replacedBy: [key.text(value: value)], naming: nil, "wrong type")
                    continue
                }
                if key.name == "traits", value.hasPrefix("{") { continue }
                self.expectRefused(key.row, replacedBy: [key.text(value: value)], naming: key.row + 1, "wrong type")
            }
        }
    }

    @Test("F24: a mapping without a key that it needs is refused and the key named")
    func missing() {
        let required = [
            "public_url", "url", "client_id", "identifier", "password_hash", "username", "password_file", "origins",
        ]
        let keys = self.keys.filter { required.contains($0.name) }
        #expect(Set(keys.map(\.name)) == Set(required))
        for key in keys {
            let space = String(repeating: " ", count: key.indent)
            var lines = self.lines
            lines[key.row] = key.isElement ? "\(space)-" : ""
            guard case .failure(let failure) = SettingsBench().load(lines.joined(separator: "\n")) else {
                Issue.record("accepted without \(key.name)")
                continue
            }
            #expect(failure.problems.contains { $0.key.hasSuffix(".\(key.name)") && $0.line != nil }, "\(failure)")
        }
    }

    @Test("F24: bytes that may not occur in the file are refused at their line")
    func garbage() {
        let garbage: [[UInt8]] = [
            [0xFF], [0xC3, 0x28], [0x00], [0x01], [0x7F], [0xED, 0xA0, 0x80], [0xC2, 0x85], [0xE2, 0x80, 0xA8],
            [0xF3, 0xB0, 0x80, 0x80], Array("\"".utf8), Array("'".utf8), Array("&a ".utf8), Array("*a ".utf8),
            Array("!t ".utf8), Array("| ".utf8), Array("? ".utf8), Array("@".utf8), Array("`".utf8), Array("]".utf8),
            Array("}".utf8), Array("[".utf8), Array("{".utf8), Array("a: b: ".utf8), Array("\t- ".utf8),
        ]
        for (number, key) in self.keys.enumerated() where !key.value.isEmpty {
            for offset in [0, 7, 13] {
                let bytes = garbage[(number + offset) % garbage.count]
                var text = Array(self.lines[..<key.row].joined(separator: "\n").utf8) + [0x0A]
                text += Array(key.text(value: "").utf8) + bytes + Array(key.value.utf8) + [0x0A]
                text += Array(self.lines[(key.row + 1)...].joined(separator: "\n").utf8)
                self.expectRefused(text, naming: nil, "garbage \(bytes), line \(key.row + 1)")
            }
        }
    }

    @Test("F24: a file that ends within a key is refused")
    func truncated() {
        for key in self.keys where key.name.utf8.count > 2 {
            let space = String(repeating: " ", count: key.indent) + (key.isElement ? "- " : "")
            let text = self.lines[..<key.row].joined(separator: "\n") + "\n\(space)\(key.name.dropLast())"
            guard !self.isOwnName(key) else { continue }
            self.expectRefused(Array(text.utf8), naming: nil, "truncated, line \(key.row + 1)")
        }
    }

    @Test("F24: a file that ends anywhere never crashes the decoder")
    func cutAnywhere() {
        let bytes = Array(self.lines.joined(separator: "\n").utf8)
        var refused = 0
        for end in stride(from: 0, to: bytes.count, by: 97) {
            if case .failure(let failure) = SettingsBench().load(bytes: Array(bytes[..<end])) {
                refused += 1
                #expect(!failure.problems.isEmpty)
                #expect(!failure.description.contains(canary))
            }
        }
        #expect(refused > 10)
    }

    @Test("F24: a flipped bit anywhere never crashes the decoder")
    func flippedBits() {
        let bytes = Array(self.lines.joined(separator: "\n").utf8)
        for (number, index) in stride(from: 0, to: bytes.count, by: 61).enumerated() {
            var bytes = bytes
            bytes[index] ^= 1 << UInt8(number % 8)
            if case .failure(let failure) = SettingsBench().load(bytes: bytes) { #expect(!failure.problems.isEmpty) }
        }
    }
}
