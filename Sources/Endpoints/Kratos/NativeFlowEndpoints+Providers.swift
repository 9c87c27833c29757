import Providers
import Settings
import SignOn
import Vocabulary

/// Sign-in with the browser, and with an id_token that the app got from a provider's SDK.
extension NativeFlowEndpoints {
    /// Answers `GET /self-service/{login,registration}?flow=` in a browser with 303 to the page that begins the
    /// sign-in. In the documented dialect, the browser's request names the URL to return to.
    func open(_ request: EndpointRequest, _ document: FlowDocument) async -> EndpointResponse {
        let isDocumented = self.settings.dialect == .documented
        let returnTo = isDocumented ? request.parameters("return_to").first : nil
        if let returnTo, !self.settings.allows(returnTo) {
            return .problem(.signInReturnToForbidden, requestID: request.requestID)
        }
        let provider = request.parameters("provider").first ?? (isDocumented ? self.settings.providers.first?.id : nil)
        return await self.sendBrowser(request, to: provider, document, back: returnTo)
    }

    /// Answers with the URL to which the app sends its user's browser: 422 for an app that speaks JSON, otherwise 303.
    ///
    /// - Parameter returnTo: The URL that the browser returns to. `nil` if the request names none.
    func sendBrowser(
        _ request: EndpointRequest,
        to provider: String?,
        _ document: FlowDocument,
        back returnTo: String? = nil
    ) async -> EndpointResponse {
        func complain(_ text: String) -> EndpointResponse {
            Self.complain(.browser(text), .signInMalformed, document)
        }
        guard let kept = document.kept else {
            return complain("Begin the flow with return_session_token_exchange_code=true to sign in with the browser.")
        }
        guard let provider, self.settings.providers.contains(where: { $0.id == provider }) else {
            return complain("The provider is not known.")
        }
        guard self.native.returnTo(of: kept, asked: returnTo) != nil else {
            return complain("Begin the flow with a return_to that is allowed.")
        }
        do {
            try await self.native.leave(kept, id: document.flow.id)
        } catch {
            return Herodot.unavailable(error.reason, to: request)
        }
        let url = AppSignInPath.url(
            on: request,
            flow: document.flow.id,
            returnTo: returnTo,
            provider: self.settings.directChoices.contains(provider) ? provider : nil
        )
        guard request.method == "POST", Self.speaksJSON(request) else { return .seeOther(url) }
        return Herodot.browserNeeded(url, to: request)
    }

    /// Returns whether Kratos would answer with JSON: the request's body is JSON, or the client accepts only JSON.
    private static func speaksJSON(_ request: EndpointRequest) -> Bool {
        ["accept", "content-type"].contains { name in
            let type = (request.field(name) ?? "").prefix { $0 != ";" }
            return type.filter { $0 != " " && $0 != "\t" }.lowercased() == "application/json"
        }
    }

    /// Exchanges an id_token for a session token.
    func submitIDToken(
        _ request: EndpointRequest,
        _ form: BodyParameters,
        _ document: FlowDocument
    ) async -> EndpointResponse {
        guard let kind = form.text("provider").flatMap(SocialIDToken.init(rawValue:)), self.idTokens.accepts(kind)
        else {
            return Self.complain(.browser("The provider takes no id_token."), .signInMalformed, document)
        }
        guard let idToken = form.text("id_token") else {
            return Self.complain(.missing(property: "id_token"), .signInIncomplete, document)
        }
        do throws(NotDone) {
            let (token, session) = try await self.idTokens.signIn(
                kind,
                Secret(idToken),
                nonce: form.text("id_token_nonce"),
                for: request.requester
            )
            return self.signedIn(token, session, request)
        } catch {
            return Herodot.notDone(error, to: request) ?? Self.complain(.idToken, error.reason, document)
        }
    }
}
