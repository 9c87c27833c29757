/// The lines that identify the user to an app, ready for copying into a request.
package struct IdentityLines: Sendable {
    /// The lines that depend only on the session.
    package let session: ContiguousArray<UInt8>
    /// The assertion for this app. `nil` if apps get no assertion.
    package let assertion: ContiguousArray<UInt8>?

    /// The total length in bytes.
    var count: Int { self.session.count + (self.assertion?.count ?? 0) }
}
