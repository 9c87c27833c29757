package import NIOCore
package import Vocabulary

/// The reader of a check that describes the original request in its body. A conforming type has no instances. A form
/// holds the type itself, so no check changes a reference count.
package protocol CheckBody: Sendable {
    /// The maximum number of bytes in the body of a check.
    static var limit: Int { get }

    /// Writes the head of the original request as HTTP/1, to be parsed like any head. No value may add a line break.
    ///
    /// - Parameters:
    ///   - body: The complete body of the check, with at most `limit` bytes.
    ///   - needsAddress: True if the head must have an `X-Forwarded-For` that ends with the client's address.
    ///   - buffer: An empty buffer to write to.
    /// - Throws: `authz.metadata` if the body does not describe exactly one request, and `authz.address` if the address
    ///   is needed but missing.
    static func writeHead(of body: [UInt8], needsAddress: Bool, into buffer: inout ByteBuffer) throws(Reason)
}
