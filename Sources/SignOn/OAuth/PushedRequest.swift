package import Sessions
package import Vocabulary

/// An authorization request that a client pushes before it redirects the user's browser (RFC 9126).
package struct PushedRequest: SingleUseRecord, Hashable {
    package static var kind: RecordKind { RecordKind(letter: UInt8(ascii: "q")) }
    /// The maximum time from the push to the end of the user's sign-in.
    package static var longestLife: Duration { .seconds(3600) }
    /// `expires_in`: the time within which the client must send the browser.
    package static let lifetime = Duration.seconds(60)

    package var clientID: String
    /// The parameters of the request, as in a query.
    package var query: String
    package var issuedAt: UnixTime

    package init(clientID: String, query: String, issuedAt: UnixTime) {
        self.clientID = clientID
        self.query = query
        self.issuedAt = issuedAt
    }

    package var terms: RecordTerms {
        RecordTerms(since: self.issuedAt, expiresAt: self.issuedAt.advanced(by: Self.longestLife))
    }

    package func write(to writer: inout CompactWriter) {
        writer.write(self.clientID)
        writer.write(self.query)
        writer.write(self.issuedAt)
    }

    package static func read(from reader: inout CompactReader) throws(CompactFormatError) -> PushedRequest {
        PushedRequest(clientID: try reader.text(), query: try reader.text(), issuedAt: try reader.time())
    }
}

extension TokenKind {
    /// The last part of a `request_uri`.
    package static var pushedRequest: TokenKind { TokenKind(prefix: "spq_", record: PushedRequest.kind) }
}
