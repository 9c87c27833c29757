/// How a proxy matches paths, and the syntax of its regular expressions.
enum PathSyntax {
    /// Bytes of the decoded path, matched by PCRE.
    case bytes
    /// Like `bytes`, but the proxy's configuration interprets `\x` first.
    case haproxy
    /// Characters of the decoded path, matched by Go's regular expressions.
    case characters
    /// Like `characters`, but reserved characters stay percent-encoded.
    case reserved
    /// The path as received, matched by RE2.
    case raw

    /// Returns an expression for a route's path: `/a(/.*)?` for `/a/**`, `/a/[^/]+` for `/a/*`.
    func route(_ path: String) -> String {
        self.expression(path) { segment in segment == "*" ? "[^/]+" : self.literal(segment) }
    }

    /// Returns an expression for one of the gateway's own paths: `/sessions/[^/]+` for `/sessions/{id}`. A differently
    /// encoded path does not match: the request is checked and rejected.
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
        // Any other character may be special in some proxy's configuration.
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

    /// Returns an expression for percent-encoded bytes, e.g. `%c3%bc`, with digits in either case.
    private static func escaped(_ hex: [String]) -> String {
        hex.map { digits in
            "%" + digits.map { $0.isLetter ? "[\($0)\($0.uppercased())]" : String($0) }.joined()
        }.joined()
    }
}
