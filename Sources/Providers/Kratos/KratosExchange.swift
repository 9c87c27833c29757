package import Calls
package import Vocabulary

/// The exchange of two codes for a session.
extension KratosProvider {
    /// Exchanges two codes for a session at Kratos, and returns the answer. `nil` if no answer arrives.
    ///
    /// - Parameter fields: The header fields of the app's request to pass on to Kratos.
    package func exchange(
        initCode: String,
        returnToCode: String,
        fields: [(name: String, value: String)]
    ) async -> CallAnswer? {
        let query = FormText.encoded([("init_code", initCode), ("return_to_code", returnToCode)])
        var call = self.call("GET", "\(Self.exchangePath)?\(query)", for: .exchange)
        call.fields = fields
        do throws(CallError) {
            return try await self.transport.send(call)
        } catch {
            self.reportOutage(error.detail)
            return nil
        }
    }

    /// Returns when the user of an answer to `exchange` signed in, by Kratos's clock. `nil` if there is no session, or
    /// the session contains no time.
    package func signedInAt(_ answer: CallAnswer) -> UnixTime? {
        guard let session = answer.json()?["session"].flatMap(KratosSession.init) else {
            self.reportOutage("it answers \(Self.exchangePath) with status \(answer.status) and no session of a user")
            return nil
        }
        return [session.issuedAt, session.authenticatedAt].compactMap(\.self).max()
    }
}
