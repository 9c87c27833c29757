package import NIOCore
package import Vocabulary

/// How a check is read that describes the original request in its body. A conforming type has no instances: a form names the
/// type, so that no check counts a reference.
package protocol CheckBody: Sendable {
    /// The most bytes that such a body may have.
    static var limit: Int { get }

    /// Writes the head of the original request for the one parser. No value in it may bring a line break of its own.
    ///
    /// - Parameters:
    ///   - body: The body of the check. It is whole, and has at most `limit` bytes.
    ///   - needsAddress: True if the head must have an `X-Forwarded-For` that ends with the client's address.
    ///   - buffer: An empty buffer to write to.
    /// - Throws: `authz.metadata` if the body does not describe exactly one request, and `authz.address` if the address is
    ///   needed and the body does not have it.
    static func writeHead(of body: [UInt8], needsAddress: Bool, into buffer: inout ByteBuffer) throws(Reason)
}
