import JOSE
import Providers
package import SignOn
import Vocabulary

/// The endpoints where a provider ends sessions: back-channel logout for the provider's server, and front-channel
/// logout for frames in the provider's pages.
package struct ProviderLogoutEndpoints: Sendable {
    static let backChannel = "/.sallyport/backchannel-logout"
    static let frontChannel = "/.sallyport/frontchannel-logout"

    /// The logouts of the host's providers.
    private let logouts: [ProviderLogout]

    /// - Parameter logouts: One logout for each provider, at least one.
    package init(logouts: [ProviderLogout]) {
        self.logouts = logouts
    }

    /// Returns the logout of this issuer. For an unknown issuer, returns the first logout, which refuses.
    private func logout(of issuer: String?) -> ProviderLogout {
        self.logouts.first { logout in issuer.map(logout.isOf) == true } ?? self.logouts[0]
    }

    package var endpoints: [Endpoint] {
        [
            Endpoint(path: Self.backChannel, methods: ["POST"], outlivesClient: true, answer: self.endByToken),
            Endpoint(path: Self.frontChannel, methods: ["GET"], outlivesClient: true, answer: self.endByFrame),
        ]
    }

    /// Answers `POST /.sallyport/backchannel-logout`: 200 if the sessions have ended on every gateway. The bodies of
    /// 400 and 503 are JSON with `error` (OpenID Connect Back-Channel Logout 1.0 2.8).
    @Sendable
    private func endByToken(_ request: EndpointRequest) async -> EndpointResponse {
        guard let form = try? BodyParameters(request, accepting: [.form]), let token = form.text("logout_token") else {
            return self.error(.logoutInvalidToken)
        }
        do throws(NotDone) {
            // The unverified issuer only selects the provider. The signature proves whose token it is.
            let issuer = (try? JWS.unverifiedClaims(of: Array(token.utf8)))?.issuer
            try await self.logout(of: issuer).obey(Secret(token), for: request.requester.withoutCookies)
            return EndpointResponse(status: 200, fields: [("cache-control", "no-store")])
        } catch {
            return self.error(error.reason)
        }
    }

    /// Answers `GET /.sallyport/frontchannel-logout?iss=&sid=` with an empty page, whether or not there was a session.
    @Sendable
    private func endByFrame(_ request: EndpointRequest) async -> EndpointResponse {
        let (issuers, sessions) = (request.parameters("iss"), request.parameters("sid"))
        // A frame sends no cookies, so nothing can be ended without both parameters.
        guard issuers.count == 1, sessions.count == 1,
            (1...ProviderEvidence.longestSessionID).contains(sessions[0].utf8.count)
        else {
            return .problem(.requestParameters, requestID: request.requestID)
        }
        do throws(NotDone) {
            try await self.logout(of: issuers[0]).end(
                sessions[0],
                of: issuers[0],
                for: request.requester.withoutCookies
            )
            return self.frame()
        } catch {
            return .problem(error.reason, requestID: request.requestID)
        }
    }

    private func frame() -> EndpointResponse {
        EndpointResponse(
            status: 200,
            fields: [
                ("content-type", "text/html; charset=utf-8"),
                // Any site may show this page in a frame: the provider's pages may have another origin than its issuer.
                ("content-security-policy", "default-src 'none'"),
                ("cache-control", "no-store"), ("x-content-type-options", "nosniff"),
                ("referrer-policy", "no-referrer"),
            ],
            body: Array("<!doctype html><title>Signed out</title>".utf8)
        )
    }

    private func error(_ reason: Reason) -> EndpointResponse {
        var fields: [(name: String, value: String)] = []
        if case .seconds(let seconds)? = reason.refusal?.retryAfter { fields.append(("retry-after", "\(seconds)")) }
        let isAvailable = reason.status < 500
        return .json(
            reason.status,
            [
                "error": isAvailable ? "invalid_request" : "temporarily_unavailable",
                "error_description": .string(reason.rawValue),
            ],
            fields: fields,
            reason: reason
        )
    }
}
