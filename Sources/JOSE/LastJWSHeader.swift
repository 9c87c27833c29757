import Synchronization

/// Reads headers and keeps the last one. An issuer's tokens usually have equal headers until its key changes.
final class LastJWSHeader: Sendable {
    private struct Read: Sendable {
        let text: [UInt8]
        let header: JWSHeader
    }

    private let last = Mutex<Read?>(nil)

    /// Returns the header in this base64url text. Only a valid header is kept.
    func header(of text: ArraySlice<UInt8>) throws(JOSEError) -> JWSHeader {
        if let last = self.last.withLock({ $0 }), last.text[...] == text { return last.header }
        let header = try JWSHeader(text)
        self.last.withLock { $0 = Read(text: Array(text), header: header) }
        return header
    }
}
