package import NIOCore
package import Sessions

/// The head of a request to an app. Every exchange with an app begins with a permitted head. Making such a head
/// consumes a `Permit`, so a request without a permit cannot be sent.
///
/// One connection at a time owns the head, until the app's answer begins. If the request has to be sent on another
/// connection, the owner returns the head.
package struct PermittedHead: ~Copyable {
    /// The head, from its request line to its empty line.
    package let bytes: ByteBuffer
    /// The framing of the body.
    package let framing: OutgoingFraming
    /// Whether a body follows. The body may turn out to be empty.
    package let hasBody: Bool
    private let permit: Permit

    /// Writes the head of a permitted request.
    ///
    /// - Parameter buffer: An empty buffer to write to.
    @inline(__always)
    package init(
        _ head: RequestHead,
        _ base: Bytes,
        permit: consuming Permit,
        credentials: Credentials,
        facts: ForwardedFacts,
        own names: OwnNames,
        into buffer: consuming ByteBuffer
    ) {
        RequestWriter.write(
            head,
            base,
            permit: permit,
            credentials: credentials,
            facts: facts,
            own: names,
            into: &buffer
        )
        self.bytes = buffer
        self.framing =
            switch head.framing {
            case .chunked, .byStream: .chunked
            case .none, .length, .untilClose: .asIs
            }
        self.hasBody = !head.framing.isEmpty
        self.permit = permit
    }

    /// The session whose identity is in the head. `nil` if none exists.
    package var session: CachedSession? { self.permit.session }

    /// Consumes the head and returns its buffer, which can be used again.
    @inline(__always)
    package consuming func intoBuffer() -> ByteBuffer { self.bytes }
}
