import Settings
package import Vocabulary

/// What a request presents to say who it is, before anything is looked up.
package struct Credentials: Equatable {
    /// The one credential that counts: an explicit one beats the ambient cookie and never falls back to it.
    package enum Presented: Equatable {
        case none
        /// `X-Session-Token`, or `Authorization: Bearer`.
        case explicit(Slice)
        /// An explicit credential that cannot be one of ours: judged, and refused.
        case unusable(Reason)
        case cookie(Slice)
    }

    package var presented = Presented.none
    package var cookies = OwnCookies.Found()
    package var handoffParameter: HandoffParameter.Found?
    /// A transfer token that was in the URL before, and is in the attempt cookie now.
    package var movedToken: Slice?
    /// `Authorization` is the gateway's here and does not go on.
    package var dropsAuthorization = false

    package init() {}

    /// Reads the credentials of `head`, or says why two of them cannot be told apart.
    package static func read(
        _ head: RequestHead,
        _ base: Bytes,
        route: RouteEntry,
        cookies: OwnCookies,
        parameter: HandoffParameter
    ) -> Result<Credentials, Reason> {
        var credentials = Credentials()
        if let line = head.line(.cookie) {
            credentials.cookies = cookies.find(in: head.fields[line].value, base)
            if let session = credentials.cookies.session { credentials.presented = .cookie(session) }
            if let attempt = credentials.cookies.attempt {
                (credentials.cookies.attempt, credentials.movedToken) = AttemptCookie.parts(of: attempt, base)
            }
        }
        if !route.settings.leavesHandoffToApp, head.hasQuery {
            credentials.handoffParameter = parameter.find(in: head.query, base)
        }
        var hasExplicit = false
        if let line = head.line(.authorization), route.settings.bearer == .gateway {
            switch AuthorizationField(head.fields[line].value, base) {
            case .bearer(let token):
                credentials.presented = token.isEmpty ? .unusable(.credentialMalformed) : .explicit(token)
                credentials.dropsAuthorization = true
                hasExplicit = true
            case .dpop:
                // No session of this store is bound to a key: a proof-bound credential cannot be one of ours.
                credentials.presented = .unusable(.credentialMalformed)
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
