import Glibc
import Vocabulary

/// The query parameter for transfer tokens. It is removed without changing other bytes, because a signature (SAML, for
/// example) may cover the rest of the query.
package struct HandoffParameter: Sendable {
    private let name: [UInt8]

    package struct Found: Equatable {
        /// The raw value. `nil` if the parameter is repeated.
        package var value: Slice?
        package var isRepeated = false
    }

    package init(name: String) {
        self.name = Array(name.utf8)
    }

    /// Returns the parameter in `query` (without `?`). Returns `nil` if the parameter is absent.
    package func find(in query: Slice, _ base: Bytes) -> Found? {
        var found: Found?
        self.forEachPair(of: query, base) { _, value in
            guard let value else { return }
            if found == nil {
                found = Found(value: value)
            } else {
                found?.isRepeated = true
                found?.value = nil
            }
        }
        return found
    }

    /// Calls `keep`, in order, with each run of `query` outside the parameter, including separators.
    package func forEachForwardedRun(of query: Slice, _ base: Bytes, _ keep: (Slice) -> Void) {
        var hasExisted = false
        self.forEachPair(of: query, base) { pair, value in
            guard value == nil else { return }
            keep(hasExisted ? Slice(pair.start - 1, pair.length + 1) : pair)
            hasExisted = true
        }
    }

    /// True if `name=` occurs anywhere in `text`, even if percent-encoded several times. Used for `Referer`, because
    /// its query may contain another URL.
    package func occurs(in text: Slice, _ base: Bytes) -> Bool {
        guard let first = self.name.first else { return false }
        var start = text.start
        while start < text.end {
            let byte = base[start]
            if byte == first || byte == 0x25, self.matches(base, start, text.end) { return true }
            start += 1
        }
        return false
    }

    private func matches(_ base: Bytes, _ start: Int, _ end: Int) -> Bool {
        var position = start
        for byte in self.name {
            guard Self.take(byte, base, &position, end) else { return false }
        }
        return Self.take(0x3D, base, &position, end)
    }

    /// Skips `byte`, plain or percent-encoded. The `%` may itself be encoded several times (`%25`).
    @inline(__always)
    private static func take(_ byte: UInt8, _ base: Bytes, _ position: inout Int, _ end: Int) -> Bool {
        guard position < end else { return false }
        if base[position] == byte {
            position += 1
            return true
        }
        guard base[position] == 0x25 else { return false }
        var digits = position + 1
        while digits + 1 < end, base[digits] == 0x32, base[digits + 1] == 0x35 { digits += 2 }
        guard digits + 1 < end, Hexadecimal.byte(base[digits], base[digits + 1]) == byte else { return false }
        position = digits + 2
        return true
    }

    /// Calls `body` with each `&`-separated pair. `value` is `nil` unless the pair is the handoff parameter.
    private func forEachPair(of query: Slice, _ base: Bytes, _ body: (_ pair: Slice, _ value: Slice?) -> Void) {
        var position = query.start
        while position <= query.end {
            var end = query.end
            if let ampersand = memchr(base + position, 0x26, query.end - position) {
                end = UnsafeRawPointer(ampersand) - UnsafeRawPointer(base)
            }
            body(Slice(position, end - position), self.value(base, position, end))
            position = end + 1
        }
    }

    private func value(_ base: Bytes, _ start: Int, _ end: Int) -> Slice? {
        // Apps decode a name before they compare it, so `session%5Ftransfer_token` also matches.
        var index = start
        var matched = 0
        while index < end, base[index] != 0x3D {
            var byte = base[index]
            index += 1
            if byte == 0x25, index + 1 < end, let decoded = Hexadecimal.byte(base[index], base[index + 1]) {
                byte = decoded
                index += 2
            }
            guard matched < self.name.count, self.name[matched] == byte else { return nil }
            matched += 1
        }
        guard matched == self.name.count else { return nil }
        let valueStart = min(index + 1, end)
        return Slice(valueStart, end - valueStart)
    }
}
