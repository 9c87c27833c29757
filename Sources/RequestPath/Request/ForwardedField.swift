package import AddressIntelligence

/// The grammar of the fields in which proxies report hops: `X-Forwarded-For` and `Forwarded` (RFC 7239).
package enum ForwardedField {
    /// Returns the value of `for` in one element of `Forwarded`, without quotes. Returns `nil` if `for` is missing or
    /// repeated, or if the element has a backslash or misplaced quotes.
    package static func node(in element: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8>? {
        // Addresses need no backslash, and readers could disagree about where a quoted string with a backslash ends.
        guard !element.contains(UInt8(ascii: "\\")) else { return nil }
        var node: UnsafeBufferPointer<UInt8>?
        var start = 0
        var isQuoted = false
        for index in 0...element.count {
            if index < element.count {
                if element[index] == UInt8(ascii: "\"") { isQuoted.toggle() }
                if element[index] != UInt8(ascii: ";") || isQuoted { continue }
            }
            let pair = ByteClass.trimmed(UnsafeBufferPointer(rebasing: element[start..<index]))
            start = index + 1
            // Parameter names are case-insensitive (RFC 7239 4).
            guard pair.count >= 4, ByteClass.equal(UnsafeBufferPointer(rebasing: pair[0..<4]), "for=") else { continue }
            // A parameter must not occur twice in an element (RFC 7239 4).
            guard node == nil else { return nil }
            node = Self.unquoted(UnsafeBufferPointer(rebasing: pair[4...]))
            if node == nil { return nil }
        }
        return isQuoted ? nil : node
    }

    private static func unquoted(_ value: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8>? {
        guard value.contains(UInt8(ascii: "\"")) else { return value }
        guard value.count >= 2, value.first == UInt8(ascii: "\""), value.last == UInt8(ascii: "\"") else { return nil }
        let inner = UnsafeBufferPointer(rebasing: value[1..<(value.count - 1)])
        return inner.contains(UInt8(ascii: "\"")) ? nil : inner
    }

    /// Parses `address`, `address:port`, `[v6]` or `[v6]:port`, with or without a zone id. Returns `nil` for names,
    /// `unknown`, obfuscated identifiers, and addresses that no client can have (`IPAddress.canBeClient`).
    package static func address(_ text: UnsafeBufferPointer<UInt8>) -> IPAddress? {
        var bytes = text
        if bytes.first == UInt8(ascii: "[") {
            guard let end = bytes.firstIndex(of: UInt8(ascii: "]")) else { return nil }
            if end + 1 < bytes.count {
                guard Self.isPort(UnsafeBufferPointer(rebasing: bytes[(end + 1)...])) else { return nil }
            }
            bytes = UnsafeBufferPointer(rebasing: bytes[1..<end])
            guard bytes.contains(UInt8(ascii: ":")) else { return nil }
        } else if let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
            !bytes[(colon + 1)...].contains(UInt8(ascii: ":"))
        {
            guard Self.isPort(UnsafeBufferPointer(rebasing: bytes[colon...])) else { return nil }
            bytes = UnsafeBufferPointer(rebasing: bytes[..<colon])
        }
        guard let address = IPAddress(utf8: bytes), address.canBeClient else { return nil }
        return address
    }

    /// Whether `bytes` are `":" ( port / obfport )` (RFC 7239 6).
    private static func isPort(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard bytes.count > 1, bytes[0] == UInt8(ascii: ":") else { return false }
        let port = UnsafeBufferPointer(rebasing: bytes[1...])
        if port[0] == UInt8(ascii: "_") {
            return port.count > 1
                && port.dropFirst().allSatisfy { byte in
                    byte &- 0x30 <= 9 || (byte | 0x20) &- 0x61 < 26 || byte == 0x2E || byte == 0x5F || byte == 0x2D
                }
        }
        guard port.count <= 5, let number = ByteClass.decimal(port) else { return false }
        return number <= 65_535
    }
}
