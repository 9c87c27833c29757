/// The content of `Authorization` by its scheme (RFC 9110 11.4). The scheme is case-insensitive.
enum AuthorizationField {
    /// The token after `Bearer`. May be empty.
    case bearer(Slice)
    /// The encoded text after `Basic`. May be empty.
    case basic(Slice)
    /// The token after `DPoP` (RFC 9449 7.1). May be empty.
    case dpop(Slice)
    case other

    init(_ value: Slice, _ base: Bytes) {
        let bytes = value.bytes(in: base)
        var end = 0
        while end < bytes.count, bytes[end] != 0x20 { end += 1 }
        var start = end
        while start < bytes.count, bytes[start] == 0x20 { start += 1 }
        let scheme = UnsafeBufferPointer(rebasing: bytes[0..<end])
        let rest = Slice(value.start + start, bytes.count - start)
        if ByteClass.equal(scheme, "bearer") {
            self = .bearer(rest)
        } else if ByteClass.equal(scheme, "basic") {
            self = .basic(rest)
        } else {
            self = ByteClass.equal(scheme, "dpop") ? .dpop(rest) : .other
        }
    }
}
