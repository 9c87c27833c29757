package import NIOCore
package import Vocabulary

/// Reads a check (a proxy's question about a request) that describes the request in its body. The gateway uses only the
/// type, without instances, to avoid reference counting.
package protocol CheckBody: Sendable {
    /// The maximum number of bytes in the body of a check.
    static var limit: Int { get }

    /// Writes the described request's head as HTTP/1. No value in the body may add a line break.
    ///
    /// - Parameters:
    ///   - body: The complete body of the check, with at most `limit` bytes.
    ///   - needsAddress: True if the head must end `X-Forwarded-For` with the client's address.
    ///   - buffer: An empty buffer to write to.
    /// - Throws: `authz.metadata` if the body does not describe exactly one request. `authz.address` if a needed
    ///   address is missing.
    static func writeHead(of body: [UInt8], needsAddress: Bool, into buffer: inout ByteBuffer) throws(Reason)
}
