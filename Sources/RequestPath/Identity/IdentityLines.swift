/// The lines that tell an app who the user is, ready to be copied into a request.
package struct IdentityLines: Sendable {
    /// Those that depend on the session alone.
    package let session: ContiguousArray<UInt8>
    /// The assertion for this app; nil if apps get none.
    package let assertion: ContiguousArray<UInt8>?

    /// The number of bytes.
    var count: Int { self.session.count + (self.assertion?.count ?? 0) }
}
