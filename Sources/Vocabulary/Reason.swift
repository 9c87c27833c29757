/// Why a request, a token or a connection was rejected or could not be served.
///
/// The raw value is the stable id in logs, metrics, audit events, problem documents and the guide ReasonIDs. The
/// meaning of an id never changes. `Refusal` defines the answer for each reason.
package enum Reason: String, Error, CaseIterable, Sendable {
    // The bytes of the request.
    case requestMalformed = "request.malformed"
    case requestFraming = "request.framing"
    case requestHost = "request.host"
    case requestTarget = "request.target"
    case requestMethod = "request.method"
    case requestVersion = "request.version"
    case requestProtocol = "request.protocol"
    case requestLineTooLong = "request.line_too_long"
    case requestFieldsTooLarge = "request.fields_too_large"
    case requestBodyTooLarge = "request.body_too_large"
    case requestTimeout = "request.timeout"
    case requestExpectation = "request.expectation"
    case requestMisdirected = "request.misdirected"
    case requestEarlyData = "request.early_data"
    case requestConnectionNamesIdentity = "request.connection_names_identity"
    case requestCrossSite = "request.cross_site"
    case requestMediaType = "request.media_type"
    case requestParameters = "request.parameters"

    // The path and the route.
    case pathAmbiguous = "path.ambiguous"
    case pathBackslash = "path.backslash"
    case pathBadEscape = "path.bad_escape"
    case pathDotSegment = "path.dot_segment"
    case pathDoubleEncoding = "path.double_encoding"
    case pathEncodedSlash = "path.encoded_slash"
    case routeNotFound = "route.not_found"
    case routeUnknownHost = "route.unknown_host"
    case routeMethodNotAllowed = "route.method_not_allowed"
    case routeNotForwarded = "route.not_forwarded"

    // A forward-auth check by another proxy.
    case authorizationAddress = "authz.address"
    case authorizationDialect = "authz.dialect"
    case authorizationEndpoint = "authz.endpoint"
    case authorizationMetadata = "authz.metadata"
    case authorizationPeer = "authz.peer"

    // The credential and the session.
    case credentialMissing = "credential.missing"
    case credentialExpired = "credential.expired"
    case credentialInvalidToken = "credential.invalid_token"
    case credentialOtherAudience = "credential.other_audience"
    case credentialRepeated = "credential.repeated"
    case credentialMalformed = "credential.malformed"
    case credentialAmbiguousCookie = "credential.ambiguous_cookie"
    case credentialOtherKey = "credential.other_key"
    case credentialBoundToCertificate = "credential.bound_to_certificate"
    case credentialBoundToKey = "credential.bound_to_key"
    case credentialNotBound = "credential.not_bound"
    case sessionUnknown = "session.unknown"
    case sessionIdle = "session.idle"
    case sessionExpired = "session.expired"
    case sessionForgotten = "session.forgotten"
    case sessionTokenReplaced = "session.token_replaced"
    case sessionOtherClient = "session.other_client"
    case sessionOtherHost = "session.other_host"
    case sessionOtherProvider = "session.other_provider"
    case sessionRevoked = "session.revoked"
    case sessionSignedOut = "session.signed_out"
    case sessionOperatorEnded = "session.operator_ended"
    case sessionLimit = "session.limit"
    case sessionProviderSignedOut = "session.provider_signed_out"
    case sessionProviderEnded = "session.provider_ended"
    case sessionRenewalAmbiguous = "session.renewal_ambiguous"
    case sessionUserGone = "session.user_gone"
    case sessionClientGone = "session.client_gone"
    case sessionPasswordChanged = "session.password_changed"

    // The DPoP proof (RFC 9449).
    case proofInvalid = "proof.invalid"
    case proofMissing = "proof.missing"
    case proofNonceNeeded = "proof.nonce_needed"
    case proofOtherKey = "proof.other_key"
    case proofReplayed = "proof.replayed"

    // The sign-in.
    case signInBlocked = "signin.blocked"
    case signInCancelled = "signin.cancelled"
    case signInEnded = "signin.ended"
    case signInFlowExpired = "signin.flow_expired"
    case signInFlowUnknown = "signin.flow_unknown"
    case signInIncomplete = "signin.incomplete"
    case signInInsufficient = "signin.insufficient"
    case signInInteractionRequired = "signin.interaction_required"
    case signInInvalidToken = "signin.invalid_token"
    case signInMalformed = "signin.malformed"
    case signInNotAllowed = "signin.not_allowed"
    case signInNotNavigation = "signin.not_navigation"
    case signInProviderError = "signin.provider_error"
    case signInRefused = "signin.refused"
    case signInRepeated = "signin.repeated"
    case signInReturnToForbidden = "signin.return_to_forbidden"
    case signInStateMismatch = "signin.state_mismatch"
    case signInThrottled = "signin.throttled"

    // The exchange of two codes for a native session.
    case exchangeNotSignedIn = "exchange.not_signed_in"
    case exchangeReplayed = "exchange.replayed"
    case exchangeThrottled = "exchange.throttled"
    case exchangeUnknown = "exchange.unknown"

    // Logout tokens of the provider.
    case logoutInvalidToken = "logout.invalid_token"
    case logoutReplayed = "logout.replayed"

    // The route's requirements for the session and the connection.
    case requireAAL = "require.aal"
    case requireProvider = "require.provider"
    case requireGroups = "require.groups"
    case requireScopes = "require.scopes"
    case requireOrigin = "require.origin"
    case requireActor = "require.actor"
    case requireClientCertificate = "require.client_certificate"
    case requireMaxAge = "require.max_age"

    // The device binding, at handoff and on the live session.
    case bindingIPMismatch = "binding.ip_mismatch"
    case bindingASNMismatch = "binding.asn_mismatch"
    case bindingASNUnknown = "binding.asn_unknown"

    // The handoff.
    case handoffUnknown = "handoff.unknown"
    case handoffExpired = "handoff.expired"
    case handoffReplayed = "handoff.replayed"
    case handoffBurned = "handoff.burned"
    case handoffQuarantined = "handoff.quarantined"
    case handoffMalformed = "handoff.malformed"
    case handoffRepeated = "handoff.repeated"
    case handoffMethodNotAllowed = "handoff.method_not_allowed"
    case handoffNotNavigation = "handoff.not_navigation"
    case handoffOtherUser = "handoff.other_user"
    case handoffOtherHost = "handoff.other_host"
    case handoffOtherOrganization = "handoff.other_organization"
    case handoffCrossSite = "handoff.cross_site"
    case handoffOtherAccount = "handoff.other_account"
    case handoffUnconfirmed = "handoff.unconfirmed"
    case handoffDelegationNotPermitted = "handoff.delegation_not_permitted"
    case handoffAlreadySignedIn = "handoff.already_signed_in"
    case handoffNotPermitted = "handoff.not_permitted"
    case handoffNested = "handoff.nested"
    case handoffThrottled = "handoff.throttled"

    // The operator's rules.
    case ruleDenied = "rule.denied"
    case ruleSignInRequired = "rule.sign_in_required"

    // The authorization code.
    case codeMismatch = "code.mismatch"
    case codeOtherClient = "code.other_client"
    case codeReplayed = "code.replayed"
    case codeUnknown = "code.unknown"

    // The refresh token.
    case refreshOtherClient = "refresh.other_client"
    case refreshReplayed = "refresh.replayed"
    case refreshUnconfirmed = "refresh.unconfirmed"
    case refreshUnknown = "refresh.unknown"
    case refreshUserGone = "refresh.user_gone"

    // The credential of a social provider.
    case socialRefused = "social.refused"
    case socialReplayed = "social.replayed"

    // The ticket between two hosts of the gateway.
    case ticketExpired = "ticket.expired"
    case ticketMalformed = "ticket.malformed"
    case ticketNoCookie = "ticket.no_cookie"
    case ticketNotNavigation = "ticket.not_navigation"
    case ticketOtherBrowser = "ticket.other_browser"
    case ticketOtherHost = "ticket.other_host"
    case ticketOtherUser = "ticket.other_user"
    case ticketQuarantined = "ticket.quarantined"
    case ticketReplayed = "ticket.replayed"
    case ticketThrottled = "ticket.throttled"
    case ticketUnknown = "ticket.unknown"

    // The token endpoint, for errors that no other reason covers.
    case oauthInvalidClient = "oauth.invalid_client"
    case oauthInvalidRedirect = "oauth.invalid_redirect"
    case oauthInvalidRequest = "oauth.invalid_request"
    case oauthInvalidTarget = "oauth.invalid_target"
    case oauthOtherUser = "oauth.other_user"
    case oauthRequestUnknown = "oauth.request_unknown"
    case oauthThrottled = "oauth.throttled"
    case oauthUnauthorizedClient = "oauth.unauthorized_client"
    case oauthUnsupportedGrantType = "oauth.unsupported_grant_type"

    // The endpoints for operators.
    case clientExists = "client.exists"
    case clientInvalid = "client.invalid"
    case clientUnknown = "client.unknown"
    case operatorScope = "operator.scope"
    case operatorThrottled = "operator.throttled"
    case operatorUnknown = "operator.unknown"
    case scimExists = "scim.exists"
    case scimInvalid = "scim.invalid"
    case scimUnknown = "scim.unknown"
    case scimUnsupported = "scim.unsupported"

    // Identity headers.
    case identityUnsafeValue = "identity.unsafe_value"
    case identityTooLarge = "identity.too_large"

    // The services that the gateway depends on.
    case storeUnavailable = "store.unavailable"
    case storeFull = "store.full"
    case providerUnavailable = "provider.unavailable"
    case upstreamUnreachable = "upstream.unreachable"
    case upstreamTimeout = "upstream.timeout"
    case upstreamTLS = "upstream.tls"
    case upstreamReset = "upstream.reset"
    case upstreamMalformed = "upstream.malformed"
    case upstreamTruncated = "upstream.truncated"
    case gatewayOverloaded = "gateway.overloaded"
    case gatewayDraining = "gateway.draining"
    case clientGone = "client.gone"
    case clientStalled = "client.stalled"
}

extension Reason {
    /// The reason that the client is told. Only logs say why a session ended: a thief of a token must not learn it.
    package var told: Reason {
        switch self {
        case .sessionIdle, .sessionExpired, .sessionForgotten, .sessionTokenReplaced, .sessionRevoked, .signInBlocked:
            .sessionUnknown
        default: self
        }
    }
}
