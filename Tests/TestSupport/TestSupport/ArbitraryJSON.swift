/// Documents as nobody expects them: JSON of any depth, type and length, with members that a reader looks for or with others,
/// and bytes that are not JSON at all. Each sequence depends only on its seed, which a failing test names.
package struct ArbitraryJSON {
    private var dice: SeededNumbers

    /// The sequence of this seed.
    package init(seed: UInt64) {
        self.dice = SeededNumbers(seed: seed)
    }

    /// The deepest value that is made. Readers refuse more levels than they need, so some documents have more.
    private static let deepest = 40

    /// A member that a reader looks for, and a value as it should be, in JSON.
    package typealias Member = (name: String, sample: String)

    // MARK: Documents

    /// An object in which some of the members are as they should be, and others are anything at all, absent, repeated, or
    /// null.
    package mutating func object(like members: [Member]) -> String {
        var written: [String] = []
        for member in members {
            let name = Self.quoted(member.name)
            switch self.roll(20) {
            case 0: break
            case 1: written.append("\(name):null")
            case 2..<7: written.append("\(name):\(self.value())")
            case 7: written.append("\(name):[\(member.sample),\(self.value()),\(member.sample)]")
            case 8: written += ["\(name):\(member.sample)", "\(name):\(self.value())"]
            default: written.append("\(name):\(member.sample)")
            }
        }
        while self.roll(4) == 0 { written.append("\(self.text()):\(self.value())") }
        return "{\(written.joined(separator: ","))}"
    }

    /// The bytes of a document, which in one of eight cases are changed somewhere.
    package mutating func bytes(of document: String) -> [UInt8] {
        let bytes = Array(document.utf8)
        return self.roll(8) == 0 ? self.changed(bytes) : bytes
    }

    /// The bytes with up to four of them changed, removed or inserted, or without their end.
    package mutating func changed(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        for _ in 0...self.roll(4) where !bytes.isEmpty {
            let place = self.roll(bytes.count)
            switch self.roll(8) {
            case 0: bytes.removeSubrange(place...)
            case 1: bytes.remove(at: place)
            case 2: bytes.insert(UInt8(self.roll(256)), at: place)
            case 3: bytes.insert(bytes[self.roll(bytes.count)], at: place)
            case 4: bytes[place] = [0x00, 0x01, 0x7F, 0x80, 0xFF][self.roll(5)]
            case 5: bytes[place] ^= 1 << UInt8(self.roll(8))
            default: bytes[place] = UInt8(self.roll(256))
            }
        }
        return bytes
    }

    /// As many bytes as chance has it, up to `count`.
    package mutating func noise(upTo count: Int) -> [UInt8] {
        (0..<self.roll(count + 1)).map { _ in UInt8(self.roll(256)) }
    }

    // MARK: Values

    /// Any value, in JSON. Most are small.
    package mutating func value() -> String {
        switch self.roll(64) {
        case 0: self.nested()
        case 1: self.list(of: self.roll(300)) { $0.scalar() }
        default: self.value(depth: 0)
        }
    }

    private mutating func value(depth: Int) -> String {
        switch self.roll(depth < 4 ? 10 : 6) {
        case 6, 7:
            return self.list(of: self.roll(5)) { $0.value(depth: depth + 1) }
        case 8, 9:
            let members = (0..<self.roll(4)).map { _ in "\(self.text()):\(self.value(depth: depth + 1))" }
            return "{\(members.joined(separator: ","))}"
        default: return self.scalar()
        }
    }

    private mutating func list(of count: Int, _ element: (inout ArbitraryJSON) -> String) -> String {
        "[\((0..<count).map { _ in element(&self) }.joined(separator: ","))]"
    }

    private mutating func scalar() -> String {
        switch self.roll(10) {
        case 0: "null"
        case 1: self.roll(2) == 0 ? "true" : "false"
        case 2, 3: self.element(of: Self.numbers)
        case 4: "\(Int64(bitPattern: self.dice.next()))"
        default: self.text()
        }
    }

    /// One value within many others.
    private mutating func nested() -> String {
        let depth = self.roll(Self.deepest)
        let value = self.scalar()
        return self.roll(2) == 0
            ? String(repeating: "[", count: depth) + value + String(repeating: "]", count: depth)
            : String(repeating: "{\"a\":", count: depth) + value + String(repeating: "}", count: depth)
    }

    /// Any text, in JSON: with escapes, halves of surrogate pairs, and whatever readers take for something else.
    package mutating func text() -> String {
        switch self.roll(200) {
        case 0, 1: return Self.quoted(String(repeating: "x", count: self.roll(20_000)))
        case 2: return Self.quoted(self.element(of: Self.brokenTexts))
        case 3..<50:
            let parts = (0..<self.roll(6)).map { _ in self.element(of: Self.parts) }
            return Self.quoted(parts.joined())
        default: return Self.quoted(self.element(of: Self.texts))
        }
    }

    private static let numbers = [
        "0", "-0", "1", "-1", "0.5", "-0.0", "60", "3600", "1800000000", "1800000000.25", "2147483648", "-2147483649",
        "4294967296", "9007199254740993", "9223372036854775", "9223372036854776", "9223372036854775807",
        "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "18446744073709551616", "1e18", "1e19",
        "-1e19", "1e300", "-1e300", "1e-300", "1e999", "253402300799", "253402300800", "1E+2",
        "1\(String(repeating: "0", count: 400))", "0.\(String(repeating: "3", count: 400))",
    ]
    /// What is between the quotes of whole texts.
    private static let texts = [
        "", " ", "a", "a,b", ",", "staff", "true", "null", "0", "-1", "3600", "9223372036854775807", "user-1", "sub",
        "https://idp.example.com", "http://", "https://[::1", "https://a:99999/", "//x", "Bearer", "RS256", "ES256",
        "none",
        "RSA", "EC", "P-256", "AQAB", "aal2", "2026-01-01T00:00:00Z", "9999-12-31T23:59:60.999999999+23:59",
        "0000-00-00T00:00:00Z", "2026-01-01T00:00:00.Z", "ada@example.com", "@", "[a, b]", "{{name}}",
        "\u{E9}\u{1F511}\u{202E}", "\u{FEFF}", "e\u{301}",
    ]
    private static let parts = [
        "a", " ", ",", "%", "%00", ";", "=", "&", #"\n"#, #"\r"#, #"\t"#, #"\u0000"#, #"\u001f"#, #"\u007f"#,
        #"\u2028"#,
        #"\""#, #"\\"#, #"\/"#, #"\ud83d\ude00"#, #"\uFEFF"#, "\u{E9}", "\u{1F511}", "\u{202E}", "{{", "}}", "<script>",
        "..", "/", "://",
    ]
    /// What no text has between its quotes; the last one has no second quote.
    private static let brokenTexts = [
        #"\ud800"#, #"\udc00"#, #"\ud800\ud800"#, #"\u12"#, #"\x"#, "\n", "\0", "\t", #"\"#,
    ]

    private static func quoted(_ name: String) -> String { "\"\(name)\"" }

    // MARK: Chance

    private mutating func roll(_ sides: Int) -> Int { Int.random(in: 0..<sides, using: &self.dice) }

    /// A number from 0 on.
    package mutating func number(below limit: Int) -> Int { self.roll(limit) }

    /// One of these, of which there is one at least.
    package mutating func element<Element>(of choices: [Element]) -> Element { choices[self.roll(choices.count)] }

    /// Whether something happens that happens in one of `cases`.
    package mutating func happens(in cases: Int) -> Bool { self.roll(cases) == 0 }
}
