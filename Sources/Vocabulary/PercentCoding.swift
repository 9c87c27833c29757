/// Percent-encoding (RFC 3986 2.1).
package enum PercentCoding {
    /// Decodes the bytes once; `nil` if a `%` is not followed by two hexadecimal digits.
    ///
    /// - Parameter plusIsSpace: True if `+` means a space, as in `application/x-www-form-urlencoded`.
    package static func decoded(_ bytes: some Collection<UInt8>, plusIsSpace: Bool) -> [UInt8]? {
        bytes.withBytes { self.decode($0, plusIsSpace: plusIsSpace, isStrict: true) }
    }

    /// Decodes the bytes once like most apps (WHATWG URL 1.3): keeps a `%` without two hexadecimal digits.
    ///
    /// - Parameter plusIsSpace: True if `+` means a space, as in `application/x-www-form-urlencoded`.
    package static func leniently(_ bytes: some Collection<UInt8>, plusIsSpace: Bool) -> [UInt8] {
        bytes.withBytes { self.decode($0, plusIsSpace: plusIsSpace, isStrict: false) } ?? []
    }

    /// Decodes contiguous bytes; `nil` if `isStrict` and a `%` is not followed by two hexadecimal digits.
    static func decode(_ bytes: UnsafeBufferPointer<UInt8>, plusIsSpace: Bool, isStrict: Bool) -> [UInt8]? {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(bytes.count)
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            index += 1
            guard byte == UInt8(ascii: "%") else {
                decoded.append(plusIsSpace && byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
                continue
            }
            if index + 2 <= bytes.count, let value = Hexadecimal.byte(bytes[index], bytes[index + 1]) {
                decoded.append(value)
                index += 2
            } else if isStrict {
                return nil
            } else {
                decoded.append(byte)
            }
        }
        return decoded
    }

    /// Percent-encodes all bytes of `text` except the unreserved ones (RFC 3986 2.3).
    package static func encoded(_ text: String) -> String {
        var encoded: [UInt8] = []
        for byte in text.utf8 {
            if byte.isUnreserved { encoded.append(byte) } else { Hexadecimal.appendEscape(of: byte, to: &encoded) }
        }
        return String(decoding: encoded, as: UTF8.self)
    }
}

extension Collection<UInt8> {
    /// Passes the bytes as contiguous memory. Generic code of another module would make an indirect call for each byte.
    func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        self.withContiguousStorageIfAvailable(body) ?? Array(self).withUnsafeBufferPointer(body)
    }
}
