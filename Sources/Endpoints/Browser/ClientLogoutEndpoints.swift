import Sessions
import Settings
package import SignOn
import Vocabulary

/// The endpoints where a client sends a browser to sign its user out: `/oidc/logout` (OpenID Connect RP-Initiated
/// Logout 1.0) and `/v2/logout` (Auth0's).
///
/// They end the browser's sessions and redirect to a URL that the client has registered. The user is asked first,
/// unless an id_token identifies the user (RP-Initiated Logout 2) or no other site made the request.
///
/// The confirmation page and the provider's sign-out page lead back here. The browser then has no session.
package struct ClientLogoutEndpoints: Sendable {
    private let browser: BrowserSessionEndpoints
    private let clients: ClientRegistry
    private let keys: IDTokenSigning
    private let issuer: String

    /// - Parameters:
    ///   - browser: Ends the sessions.
    ///   - keys: The keys of id_tokens.
    ///   - issuer: The issuer as in the metadata.
    package init(browser: BrowserSessionEndpoints, clients: ClientRegistry, keys: IDTokenSigning, issuer: String) {
        self.browser = browser
        self.clients = clients
        self.keys = keys
        self.issuer = issuer
    }

    package var endpoints: [Endpoint] {
        [
            Endpoint(path: "/oidc/logout", methods: ["GET", "HEAD", "POST"], outlivesClient: true) {
                await self.answer($0, .openID)
            },
            Endpoint(path: "/v2/logout", methods: ["GET", "HEAD"], outlivesClient: true) {
                await self.answer($0, .auth0)
            },
        ]
    }

    private func answer(_ request: EndpointRequest, _ names: ClientLogout.Names) async -> EndpointResponse {
        switch request.method {
        case "HEAD": return .noContent()
        case "POST": return self.reload(request, names)
        default: break
        }
        let requester = request.requester
        let wish: ClientLogout
        let live: [FoundSession]
        do throws(NotDone) {
            wish = try await self.wish(request, names)
            live = try await self.browser.sessions.signedIn(by: requester)
        } catch {
            return self.refuse(error.reason, request)
        }
        if let objection = wish.objection {
            guard !live.isEmpty else { return self.refuse(objection, request) }
            return Page.signOut(request, returnTo: request.path, reason: objection)
        }
        let place = wish.location ?? Page.signedOut
        if live.isEmpty { return .seeOther(place) }
        let back = wish.path(request.path, names)
        guard request.isPageLoad, wish.isProven(for: live, request) else {
            return Page.signOut(request, returnTo: back)
        }
        do throws(NotDone) {
            let (onward, cleared) = try await self.browser.end(request, leadingTo: back)
            return .seeOther(onward ?? place, fields: cleared)
        } catch {
            return Page.signOut(request, returnTo: back, notice: .signOutUncertain, reason: error.reason)
        }
    }

    /// Redirects to this request as a GET, because a browser sends no session cookie with another site's form.
    private func reload(_ request: EndpointRequest, _ names: ClientLogout.Names) -> EndpointResponse {
        // All parameters are optional (OpenID Connect RP-Initiated Logout 1.0, 2).
        guard !request.body.isEmpty else { return .seeOther(request.path) }
        guard let form = try? BodyParameters(request, accepting: [.form]) else {
            return self.refuse(.oauthInvalidRequest, request)
        }
        let parameters = names.all.compactMap { name in form.text(name).map { (name, $0) } }
        return .seeOther(request.path + (parameters.isEmpty ? "" : "?" + FormText.encoded(parameters)))
    }

    private func wish(
        _ request: EndpointRequest,
        _ names: ClientLogout.Names
    ) async throws(NotDone) -> ClientLogout {
        var hint = ClientLogout.Hint.none
        if let name = names.hint, let token = request.parameters(name).first(where: { !$0.isEmpty }) {
            guard let keys = await self.keys.published() else { throw NotDone(.storeUnavailable) }
            hint = IDTokenHint(token, issuer: self.issuer, keys: keys).map { .own($0) } ?? .foreign
        }
        return ClientLogout(request.query, names, hint, clients: self.clients.snapshot)
    }

    private func refuse(_ reason: Reason, _ request: EndpointRequest) -> EndpointResponse {
        .problem(reason, requestID: request.requestID, fields: [("referrer-policy", "no-referrer")])
    }
}

/// A client's validated request to sign a user out.
struct ClientLogout: Sendable {
    /// The names of the parameters.
    struct Names: Sendable {
        let target: String
        let state: String?
        let hint: String?

        /// The names of RP-Initiated Logout 2. `logout_hint` and `ui_locales` are ignored.
        static let openID = Names(target: "post_logout_redirect_uri", state: "state", hint: "id_token_hint")
        /// The names of Auth0. `federated` is ignored: a sign-out continues at the provider with or without it.
        static let auth0 = Names(target: "returnTo", state: nil, hint: nil)

        var all: [String] { ["client_id", self.target] + [self.state, self.hint].compactMap(\.self) }
    }

    /// The `id_token_hint` of the request.
    enum Hint: Sendable {
        case none
        /// The hint is not an id_token of this gateway.
        case foreign
        case own(IDTokenHint)
    }

    /// The registered URL to redirect to. `nil` for the gateway's own page.
    private var target: String?
    private let state: String?
    private var clientID: String?
    private let hint: Hint
    /// The reason why the request is refused. `nil` if it is valid.
    private(set) var objection: Reason?

    init(_ query: [(name: String, value: String)], _ names: Names, _ hint: Hint, clients: ClientSnapshot) {
        var values: [String: String] = [:]
        for (name, value) in query where !value.isEmpty && names.all.contains(name) {
            if values.updateValue(value, forKey: name) != nil { self.objection = .oauthInvalidRequest }
        }
        self.state = names.state.flatMap { values[$0] }
        self.clientID = values["client_id"]
        self.hint = hint
        switch hint {
        case .none: break
        case .foreign: self.objection = .oauthInvalidRequest
        case .own(let token):
            if let clientID, clientID != token.clientID { self.objection = .oauthInvalidRequest }
            self.clientID = token.clientID
        }
        // URLs are registered for clients. Without a client, the gateway's own page is the target.
        guard let clientID = self.clientID, self.objection == nil else { return }
        guard let client = clients.client(clientID) else {
            self.objection = .oauthInvalidClient
            return
        }
        guard let target = values[names.target] else { return }
        guard client.logoutURLs.contains(where: { $0.utf8.elementsEqual(target.utf8) }) else {
            self.objection = .oauthInvalidRedirect
            return
        }
        self.target = target
    }

    /// The URL to redirect to, with its `state`. `nil` for the gateway's own page.
    var location: String? {
        guard let target = self.target else { return nil }
        guard let state = self.state else { return target }
        return target + (target.utf8.contains(UInt8(ascii: "?")) ? "&" : "?") + FormText.encoded([("state", state)])
    }

    /// Returns the path and query to which the browser comes back: this request without `id_token_hint`.
    func path(_ path: String, _ names: Names) -> String {
        var parameters: [(String, String)] = []
        if let clientID = self.clientID { parameters.append(("client_id", clientID)) }
        if let target = self.target { parameters.append((names.target, target)) }
        if let name = names.state, let state = self.state { parameters.append((name, state)) }
        return path + (parameters.isEmpty ? "" : "?" + FormText.encoded(parameters))
    }

    /// Returns whether the user need not be asked: the client has an id_token of the signed-in user, or no other site
    /// made the request. Otherwise, the client's user and the browser's user may differ.
    func isProven(for live: [FoundSession], _ request: EndpointRequest) -> Bool {
        switch self.hint {
        case .own(let token): live.allSatisfy { $0.session.identity.id.isExactly(token.subject) }
        case .none: ["same-origin", "none"].contains(request.field("sec-fetch-site"))
        case .foreign: false
        }
    }
}
