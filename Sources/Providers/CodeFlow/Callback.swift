import Vocabulary

/// What a browser brought back from a provider's authorization endpoint (RFC 6749 4.1.2).
enum Callback {
    /// The longest code that is passed on.
    private static let longestCode = 4096

    case code(String)
    case refused(BrowserRefusal)
    /// The provider has a fault that will pass.
    case unavailable(detail: String)

    /// - Parameters:
    ///   - issuer: The provider's issuer, to which `iss` is compared where it is present; nil: `iss` is ignored.
    ///   - demandsIssuer: Whether `iss` must be there: the provider announces it (RFC 9207 2.4).
    init(
        _ parameters: [(name: String, value: String)],
        pending: PendingSignIn,
        issuer: String?,
        demandsIssuer: Bool = false
    ) {
        func mismatch(_ detail: String) -> Self { .refused(BrowserRefusal(.mismatch, detail: detail)) }
        // RFC 6749 3.1: "parameters MUST NOT be included more than once".
        guard Set(parameters.map(\.name)).count == parameters.count else {
            self = mismatch("a parameter of the callback is repeated")
            return
        }
        func value(_ name: String) -> String? { parameters.first { $0.name == name }?.value }
        guard let state = value("state"), state.isExactly(pending.id) else {
            self = mismatch("state")
            return
        }
        if let issuer {
            let named = value("iss")
            guard named.map({ $0.isExactly(issuer) }) ?? !demandsIssuer else {
                self = mismatch("iss of the callback is missing or names another issuer")
                return
            }
        }
        if let error = value("error") {
            self = Self.refusal(error)
        } else if let code = value("code"), (1...Self.longestCode).contains(code.utf8.count) {
            self = .code(code)
        } else {
            self = mismatch("the callback has neither code nor error")
        }
    }

    private static func refusal(_ error: String) -> Self {
        let cause: BrowserRefusal.Cause
        switch error {
        case "access_denied": cause = .cancelled
        case "login_required", "interaction_required", "consent_required", "account_selection_required":
            cause = .interactionRequired
        // OpenID Connect Core Error Code unmet_authentication_requirements 1.0.
        case "unmet_authentication_requirements": cause = .insufficient
        case "temporarily_unavailable": return .unavailable(detail: "the provider answered \(error)")
        default: cause = .providerError
        }
        let detail = ErrorCode.isPlausible(error) ? error : "an error code that is not one"
        return .refused(BrowserRefusal(cause, detail: detail))
    }
}
