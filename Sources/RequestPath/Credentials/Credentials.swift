import Settings
package import SignOn
package import Vocabulary

/// The credentials in a request, before any look-up.
package struct Credentials: Equatable {
    /// The credential that applies. An explicit credential takes precedence over the cookie, even if it is invalid.
    package enum Presented: Equatable {
        case none
        /// `X-Session-Token`, or `Authorization: Bearer` or `DPoP`.
        case explicit(Slice)
        /// An explicit credential that cannot be a valid token, and the reason to reject it.
        case unusable(Reason)
        case cookie(Slice)
        /// The provider's session cookie.
        case providerCookie(Slice)

        /// True if a browser sends the credential with every request, even with a request that another site causes.
        var isAmbient: Bool {
            switch self {
            case .cookie, .providerCookie: true
            case .none, .explicit, .unusable: false
            }
        }
    }

    package var presented = Presented.none
    package var cookies = OwnCookies.Found()
    package var handoffParameter: HandoffParameter.Found?
    /// The transfer token in the attempt cookie, moved there from the URL or from an app's cookie.
    package var movedToken: Slice?
    /// The proof in the attempt cookie that the user confirmed `movedToken`. `nil` if the cookie contains no proof.
    package var confirmedToken: AttemptCookie.Confirmation?
    /// True if the credential is in `Authorization: DPoP` and requires a DPoP proof.
    package var isProofScheme = false
    /// True if `Authorization` contains a credential for the gateway. The app does not receive the field.
    package var dropsAuthorization = false

    /// True if the request contains a transfer token anywhere.
    @inline(__always)
    var hasTransferToken: Bool {
        self.cookies.handoff.isThere || self.handoffParameter != nil || self.movedToken != nil
    }

    /// Reads the credentials of `head`. Fails if the head contains two explicit credentials.
    package static func read(
        _ head: RequestHead,
        _ base: Bytes,
        route: RouteEntry,
        cookies: @autoclosure () -> OwnCookies,
        parameter: HandoffParameter
    ) -> Result<Credentials, Reason> {
        var credentials = Credentials()
        if let line = head.line(.cookie) {
            credentials.cookies = cookies().find(in: head.fields[line].value, base)
            if let session = credentials.cookies.session.value {
                credentials.presented = .cookie(session)
            } else if let session = credentials.cookies.provider.value {
                credentials.presented = .providerCookie(session)
            }
            if let attempt = credentials.cookies.attempt.value {
                let parts = AttemptCookie.parts(of: attempt, base)
                credentials.cookies.attempt.value = parts.secret
                credentials.movedToken = parts.token
                credentials.confirmedToken = parts.confirmed
            }
        }
        if !route.settings.passesHandoffToApp, head.hasQuery {
            credentials.handoffParameter = parameter.find(in: head.query, base)
        }
        var hasExplicit = false
        if let line = head.line(.authorization), route.ownsBearer {
            switch AuthorizationField(head.fields[line].value, base) {
            case .bearer(let token):
                credentials.presented = token.isEmpty ? .unusable(.credentialMalformed) : .explicit(token)
                credentials.dropsAuthorization = true
                hasExplicit = true
            case .dpop(let token):
                credentials.presented = token.isEmpty ? .unusable(.credentialMalformed) : .explicit(token)
                credentials.isProofScheme = true
                credentials.dropsAuthorization = true
                hasExplicit = true
            case .basic, .other:
                break
            }
        }
        if let line = head.line(.sessionToken) {
            guard !hasExplicit else { return .failure(.credentialRepeated) }
            let value = head.fields[line].value
            credentials.presented = value.isEmpty ? .unusable(.credentialMalformed) : .explicit(value)
        }
        return .success(credentials)
    }
}
