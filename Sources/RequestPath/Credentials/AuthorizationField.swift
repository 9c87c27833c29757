/// What `Authorization` holds: `auth-scheme 1*SP` and what belongs to the scheme (RFC 9110 11.4). The scheme is
/// case-insensitive.
enum AuthorizationField {
    /// The token that follows `Bearer`; empty when none does.
    case bearer(Slice)
    /// What follows `Basic`, not decoded; empty when nothing does.
    case basic(Slice)
    case dpop
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
            self = ByteClass.equal(scheme, "dpop") ? .dpop : .other
        }
    }
}
