/// The form of paths that a proxy matches, and the syntax of its regular expressions.
enum PathSyntax {
    /// The bytes of the decoded path, matched with PCRE.
    case bytes
    /// The bytes of the decoded path, in a configuration that interprets `\x` itself.
    case haproxy
    /// The characters of the decoded path, matched with Go's regular expressions.
    case characters
    /// The characters of the decoded path, except that reserved characters stay escaped.
    case reserved
    /// The path as the client sent it, matched with RE2.
    case raw

    /// Returns the expression for a route's paths: `/a/**` as `/a(/.*)?`, `/a/*` as `/a/[^/]+`.
    func route(_ path: String) -> String {
        self.expression(path) { segment in segment == "*" ? "[^/]+" : self.literal(segment) }
    }

    /// Returns the expression for one of the gateway's own paths: `/sessions/{id}` as `/sessions/[^/]+`. If a client
    /// spells such a path differently, the request may go to the check and is rejected there.
    func ownPath(_ path: String) -> String {
        let plain: PathSyntax = self == .raw || self == .reserved ? .characters : self
        return self.expression(path) { segment in segment.hasPrefix("{") ? "[^/]+" : plain.literal(segment) }
    }

    private func expression(_ path: String, _ segment: (Substring) -> String) -> String {
        var text = ""
        for part in path.split(separator: "/", omittingEmptySubsequences: false).dropFirst() {
            if part == "**" { text += text.isEmpty ? "/.*" : "(/.*)?" } else { text += "/" + segment(part) }
        }
        return text
    }

    private func literal(_ text: Substring) -> String {
        text.unicodeScalars.map { self.literal($0) }.joined()
    }

    private func literal(_ scalar: Unicode.Scalar) -> String {
        let bytes = Array(String(scalar).utf8)
        let isLetter = bytes.count == 1 && Self.isLetterOrDigit(bytes[0])
        let isUnreserved = isLetter || "-_~.".unicodeScalars.contains(scalar)
        // Every other character has a special meaning in the configuration of some proxy.
        let isPlain = isLetter || "-_~@:".unicodeScalars.contains(scalar)
        let code = String(scalar.value, radix: 16)
        let hex = bytes.map(Self.hex)
        let character =
            if isPlain {
                String(scalar)
            } else if scalar == "." {
                "\\."
            } else {
                switch self {
                case .bytes: hex.map { "\\x" + $0 }.joined()
                case .haproxy: hex.map { "\\\\x" + $0 }.joined()
                case .characters, .reserved, .raw: scalar.isASCII ? "\\x" + hex[0] : "\\x{\(code)}"
                }
            }
        switch self {
        case .bytes, .haproxy, .characters: return character
        case .reserved: return isUnreserved ? character : "(?:\(character)|\(Self.escaped(hex)))"
        case .raw: return scalar.isASCII ? "(?:\(character)|\(Self.escaped(hex)))" : Self.escaped(hex)
        }
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        byte &- 0x30 <= 9 || (byte | 0x20) &- 0x61 < 26
    }

    private static func hex(_ byte: UInt8) -> String {
        (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }

    /// Returns an expression for percent-encoded bytes, such as `%c3%bc`, in either case.
    private static func escaped(_ hex: [String]) -> String {
        hex.map { digits in
            "%" + digits.map { $0.isLetter ? "[\($0)\($0.uppercased())]" : String($0) }.joined()
        }.joined()
    }
}
