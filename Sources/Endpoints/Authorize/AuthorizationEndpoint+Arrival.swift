import Sessions
import Settings
import SignOn
import Vocabulary

/// An authorization request as a browser sends it: complete, or as a reference to a pushed request.
extension AuthorizationEndpoint {
    typealias Parameters = [(name: String, value: String)]

    /// A request, and how it arrived.
    struct Arrival {
        /// The parameters to judge, including the parameters of a pushed request.
        var parameters: Parameters
        /// The parameters that the browser takes to the sign-in page and back. Parameters with a transfer token are
        /// left out, because each token is tried only once.
        var carried: Parameters
        /// The time when this request was sent to the sign-in page. `nil` if this did not happen.
        var begun: UnixTime?
        /// The pushed request. An answer to the client uses it up. `nil` if the request was not pushed.
        var pushed: FoundRequest?
    }

    static let transferToken = "session_transfer_token"

    /// Returns the request as it arrived, with the parameters of a pushed request if `parameters` refer to one.
    func arrival(
        _ parameters: Parameters,
        _ mark: String?
    ) async throws(AuthorizationRequest.Failure) -> Arrival {
        let now = self.tokens.clock.now()
        let references = parameters.filter {
            $0.name == "request_uri" && $0.value.hasPrefix(PushedRequestEndpoint.prefix)
        }
        guard let reference = references.first else {
            return Arrival(
                parameters: parameters,
                carried: parameters.filter { parameter in
                    parameter.name != Self.transferToken && !ReturnTo.carriesToken(parameter.value)
                        && !TokenAuthority.isWellFormed(.transfer, Array(parameter.value.utf8))
                },
                begun: mark.flatMap { self.marks.time(in: $0, of: parameters, now: now) }
            )
        }
        let clientIDs = parameters.filter { $0.name == "client_id" }
        guard clientIDs.count == 1, let client = self.clients.snapshot.client(clientIDs[0].value) else {
            throw .page(.oauthInvalidClient)
        }
        guard references.count == 1 else { throw .page(.oauthInvalidRequest) }
        let found: FoundRequest?
        do throws(NotDone) {
            found = try await self.tokens.pushed(
                Secret(String(reference.value.dropFirst(PushedRequestEndpoint.prefix.count)))
            )
        } catch {
            throw .page(error.reason)
        }
        let carried = [clientIDs[0], reference]
        let begun = mark.flatMap { self.marks.time(in: $0, of: carried, now: now) }
        // A user who reached the sign-in page within the lifetime may return later.
        guard let found, found.request.clientID == client.clientID,
            begun != nil || now.since(found.request.issuedAt) <= PushedRequest.lifetime
        else { throw .page(.oauthRequestUnknown, back: self.start(of: client)) }
        // The browser's other parameters are ignored (RFC 9126 4), except the transfer token that Auth0's SDKs add.
        var pushed = FormText.pairs(Array(found.request.query.utf8))
        let tokens = parameters.filter { $0.name == Self.transferToken }
        if begun != nil || !tokens.isEmpty { pushed.removeAll { $0.name == Self.transferToken } }
        return Arrival(
            parameters: pushed + (begun == nil ? tokens : []),
            carried: carried,
            begun: begun,
            pushed: found
        )
    }

    /// Returns the client's URL that starts a sign-in (OpenID Connect Core 4). `nil` if the client has none.
    func start(of client: ClientSettings) -> String? {
        client.initiateLoginURI.map { uri in
            uri + (uri.utf8.contains(UInt8(ascii: "?")) ? "&" : "?") + FormText.encoded([("iss", self.idTokens.issuer)])
        }
    }
}
