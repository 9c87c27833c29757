package import NIOCore
package import Sessions

/// The head of a request as it is sent to an app. Every exchange with an app begins with one, and making one consumes a
/// `Permit`. So a request that was not permitted cannot be sent.
///
/// One connection at a time owns it, until the app's answer begins. The connection returns it if the request has to be
/// sent on another one.
package struct PermittedHead: ~Copyable {
    /// The head, from its request line to its empty line.
    package let bytes: ByteBuffer
    /// How the body is sent that follows it.
    package let framing: OutgoingFraming
    /// Whether a body follows it, which may turn out to be empty.
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

    /// The session whose identity the head carries; nil: none.
    package var session: CachedSession? { self.permit.session }

    /// Consumes the head and returns its buffer, which can be used again.
    @inline(__always)
    package consuming func intoBuffer() -> ByteBuffer { self.bytes }
}
