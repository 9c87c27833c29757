import Vocabulary

/// Reads the parameters of a callback from a provider's authorization endpoint (RFC 6749 4.1.2).
enum Callback {
    /// The maximum length of a code in bytes.
    private static let longestCode = 4096

    /// Returns the authorization code.
    ///
    /// - Parameters:
    ///   - issuer: The provider's issuer, which `iss` must equal if it is present; `nil` to ignore `iss`.
    ///   - demandsIssuer: True if `iss` must be present, because the provider announces it (RFC 9207 2.4).
    static func code(
        _ parameters: [(name: String, value: String)],
        of pending: PendingSignIn,
        issuer: String?,
        demandsIssuer: Bool = false
    ) throws(NotDone) -> String {
        func mismatch(_ detail: String) -> NotDone { NotDone(.signInStateMismatch, detail: detail) }
        // RFC 6749 3.1: "parameters MUST NOT be included more than once".
        guard Set(parameters.map(\.name)).count == parameters.count else {
            throw mismatch("a parameter of the callback is repeated")
        }
        func value(_ name: String) -> String? { parameters.first { $0.name == name }?.value }
        guard let state = value("state"), state.isExactly(pending.id) else { throw mismatch("state") }
        if let issuer {
            let named = value("iss")
            guard named.map({ $0.isExactly(issuer) }) ?? !demandsIssuer else {
                throw mismatch("iss of the callback is missing or names another issuer")
            }
        }
        if let error = value("error") { throw Self.refusal(error, value("error_description")) }
        guard let code = value("code"), (1...Self.longestCode).contains(code.utf8.count) else {
            throw mismatch("the callback has neither code nor error")
        }
        return code
    }

    private static func refusal(_ error: String, _ description: String?) -> NotDone {
        let reason: Reason
        switch error {
        case "access_denied": reason = .signInCancelled
        // Apple sends `user_cancelled_authorize`, LinkedIn `user_cancelled_login`.
        case let error where error.hasPrefix("user_cancelled"): reason = .signInCancelled
        // Keycloak sends this if the user took too long at its page. It is no outage.
        case "temporarily_unavailable" where description == "authentication_expired":
            return NotDone(.signInStateMismatch, detail: "the sign-in expired at the provider")
        case "login_required", "interaction_required", "consent_required", "account_selection_required":
            reason = .signInInteractionRequired
        // OpenID Connect Core Error Code unmet_authentication_requirements 1.0.
        case "unmet_authentication_requirements": reason = .signInInsufficient
        case "temporarily_unavailable":
            return NotDone(.providerUnavailable, detail: "the provider answered \(error)")
        default: reason = .signInProviderError
        }
        let detail = ErrorCode.isPlausible(error) ? error : "an error code that is not one"
        return NotDone(reason, detail: detail)
    }
}
