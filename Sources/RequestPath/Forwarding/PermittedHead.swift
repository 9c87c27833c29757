package import NIOCore
package import Sessions

/// The head of a request to an app. Creating it consumes a `Permit`, so no request can be sent without one.
///
/// One stream at a time owns the head. Until the final answer is passed on, the head can be taken back for a retry.
package struct PermittedHead: ~Copyable {
    /// The head, from its request line to its empty line.
    package let bytes: ByteBuffer
    /// The framing of the body.
    package let framing: OutgoingFraming
    /// True if the request has a body, even an empty one.
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

    /// The session whose identity is in the head. `nil` if there is none.
    package var session: CachedSession? { self.permit.session }

    /// Consumes the head and returns its buffer for reuse.
    @inline(__always)
    package consuming func intoBuffer() -> ByteBuffer { self.bytes }
}
