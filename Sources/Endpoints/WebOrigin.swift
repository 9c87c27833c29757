import AddressIntelligence

/// An origin from an `Origin` field (RFC 6454 7), normalised. Some clients, e.g. React Native on Android, write the
/// default port, a trailing slash, capitals or a non-ASCII name. `null` and lists are no origins.
package struct WebOrigin: Sendable, Equatable {
    /// The origin in lower case, without a default port, with the host name in ASCII.
    package let text: String

    private static let longest = 512

    /// Reads the value of the field. `nil` if it names no http or https origin.
    package init?(_ claimed: some Collection<UInt8>) {
        guard claimed.count <= Self.longest else { return nil }
        var rest = Array(claimed)[...]
        let isHTTPS: Bool
        if Self.begins(rest, with: "https://") {
            isHTTPS = true
        } else if Self.begins(rest, with: "http://") {
            isHTTPS = false
        } else {
            return nil
        }
        rest.removeFirst(isHTTPS ? 8 : 7)
        if rest.last == UInt8(ascii: "/") { rest.removeLast() }
        let isAddress = rest.first == UInt8(ascii: "[")
        guard
            let end = isAddress
                ? rest.firstIndex(of: UInt8(ascii: "]")).map({ $0 + 1 })
                : rest.firstIndex(of: UInt8(ascii: ":")) ?? rest.endIndex,
            let host = isAddress ? Self.address(rest[..<end]) : Self.name(rest[..<end])
        else { return nil }
        var text = (isHTTPS ? "https://" : "http://") + host
        if end < rest.endIndex {
            guard rest[end] == UInt8(ascii: ":"), let port = Self.port(rest[(end + 1)...]) else { return nil }
            if port != (isHTTPS ? 443 : 80) { text += ":\(port)" }
        }
        self.text = text
    }

    /// Returns whether `claimed`, a field's value, names `origin`, which has the form of `text`.
    package static func isSame(_ claimed: some Collection<UInt8>, as origin: some Collection<UInt8>) -> Bool {
        claimed.elementsEqual(origin) || WebOrigin(claimed)?.text.utf8.elementsEqual(origin) == true
    }

    private static func begins(_ bytes: ArraySlice<UInt8>, with scheme: StaticString) -> Bool {
        let count = scheme.utf8CodeUnitCount
        guard bytes.count > count else { return false }
        return bytes.prefix(count).enumerated().allSatisfy { offset, byte in
            Self.lowercased(byte) == scheme.utf8Start[offset]
        }
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 { byte &- 0x41 < 26 ? byte | 0x20 : byte }

    /// Returns the IPv6 address in brackets. An IPv4-mapped address becomes an IPv4 address.
    private static func address(_ bytes: ArraySlice<UInt8>) -> String? {
        let text = String(decoding: bytes.dropFirst().dropLast(), as: UTF8.self)
        guard text.utf8.contains(UInt8(ascii: ":")), let address = IPAddress(text) else { return nil }
        return address.isV4 ? "\(address)" : "[\(address)]"
    }

    private static func name(_ bytes: ArraySlice<UInt8>) -> String? {
        guard !bytes.isEmpty else { return nil }
        let isName = bytes.allSatisfy { byte in
            Self.lowercased(byte) &- 0x61 < 26 || byte &- 0x30 <= 9 || byte == 0x2D || byte == 0x2E || byte == 0x5F
        }
        if isName { return String(decoding: bytes.map(Self.lowercased), as: UTF8.self) }
        guard bytes.contains(where: { $0 >= 0x80 }), let text = String(validating: bytes, as: UTF8.self) else {
            return nil
        }
        // Some clients do not map names to lower case (RFC 5895 2). The settings contain only the ASCII form.
        let labels = text.lowercased().split(separator: ".", omittingEmptySubsequences: false).map { label in
            label.utf8.allSatisfy { $0 < 0x80 }
                ? String(label) : Punycode.encode(label.unicodeScalars).map { "xn--" + $0 }
        }
        let ascii = labels.compactMap { $0 }
        guard ascii.count == labels.count else { return nil }
        return Self.name(Array(ascii.joined(separator: ".").utf8)[...])
    }

    /// Returns the port, 1 to 65535 without leading zeros.
    private static func port(_ digits: ArraySlice<UInt8>) -> Int? {
        guard (1...5).contains(digits.count), digits.first != UInt8(ascii: "0"),
            digits.allSatisfy({ $0 &- 0x30 <= 9 }), let port = Int(String(decoding: digits, as: UTF8.self)),
            port <= 65_535
        else { return nil }
        return port
    }
}

/// The ASCII form of a label of an internationalized name (RFC 3492), without its prefix `xn--`.
enum Punycode {
    private static let base: UInt32 = 36
    private static let lowest: UInt32 = 1
    private static let highest: UInt32 = 26
    /// The longest label of a name (RFC 1035 2.3.4).
    private static let longest = 63

    /// Returns the ASCII form. `nil` if the label is too long.
    static func encode(_ label: some Collection<Unicode.Scalar>) -> String? {
        let scalars = label.map(\.value)
        guard scalars.count <= Self.longest else { return nil }
        var output = scalars.filter { $0 < 0x80 }.map { UInt8($0) }
        let basicCount = UInt32(output.count)
        var handled = basicCount
        if basicCount > 0 { output.append(UInt8(ascii: "-")) }
        var next: UInt32 = 0x80
        var delta: UInt32 = 0
        var bias: UInt32 = 72
        // With at most 63 scalars below 0x110000, `delta` stays below 2^27.
        while handled < scalars.count, let least = scalars.filter({ $0 >= next }).min() {
            delta += (least - next) * (handled + 1)
            next = least
            for scalar in scalars {
                if scalar < next { delta += 1 }
                guard scalar == next else { continue }
                output += Self.digits(of: delta, bias)
                bias = Self.adapted(delta, handled + 1, isFirst: handled == basicCount)
                delta = 0
                handled += 1
            }
            delta += 1
            next += 1
        }
        return output.count <= Self.longest ? String(decoding: output, as: UTF8.self) : nil
    }

    /// Returns the digits of a variable-length integer (RFC 3492 3.3).
    private static func digits(of delta: UInt32, _ bias: UInt32) -> [UInt8] {
        var digits: [UInt8] = []
        var rest = delta
        var weight = Self.base
        while true {
            let threshold = min(max(weight, bias + Self.lowest) - bias, Self.highest)
            if rest < threshold { break }
            digits.append(Self.digit(threshold + (rest - threshold) % (Self.base - threshold)))
            rest = (rest - threshold) / (Self.base - threshold)
            weight += Self.base
        }
        digits.append(Self.digit(rest))
        return digits
    }

    private static func digit(_ value: UInt32) -> UInt8 { UInt8(value < 26 ? 0x61 + value : 0x30 + value - 26) }

    /// Adapts the bias (RFC 3492 6.1).
    private static func adapted(_ delta: UInt32, _ count: UInt32, isFirst: Bool) -> UInt32 {
        var delta = isFirst ? delta / 700 : delta / 2
        delta += delta / count
        var weight: UInt32 = 0
        while delta > (Self.base - Self.lowest) * Self.highest / 2 {
            delta /= Self.base - Self.lowest
            weight += Self.base
        }
        return weight + (Self.base - Self.lowest + 1) * delta / (delta + 38)
    }
}
