package import Handoff

extension AttemptCookie {
    /// The two parts of `value`; the second is nil if no token was moved here.
    package static func parts(of value: Slice, _ base: Bytes) -> (secret: Slice, token: Slice?) {
        let bytes = value.bytes(in: base)
        guard let dot = bytes.firstIndex(of: Self.separator) else { return (value, nil) }
        let token = Slice(value.start + dot + 1, value.length - dot - 1)
        return (Slice(value.start, dot), Self.canHold(token.bytes(in: base)) ? token : nil)
    }
}
