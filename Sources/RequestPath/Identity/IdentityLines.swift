/// The complete field lines that identify the user to an app.
package struct IdentityLines: Sendable {
    /// All lines except the assertion: about the session and about the client's certificate.
    package let session: ContiguousArray<UInt8>
    /// The line of the assertion for this app. `nil` if there is none.
    package let assertion: ContiguousArray<UInt8>?

    /// The total length in bytes.
    var count: Int { self.session.count + (self.assertion?.count ?? 0) }
}
