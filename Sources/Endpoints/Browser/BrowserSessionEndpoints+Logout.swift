import Sessions
import SignOn
import Vocabulary

extension BrowserSessionEndpoints {
    /// Answers `GET /.sallyport/logout` with a page with a button, because a link or an image must not sign the user
    /// out. A user who is not signed in is not asked.
    func askToSignOut(_ request: EndpointRequest) async -> EndpointResponse {
        let returnTo = self.returnTo(request.parameters("return_to"), request)
        if let live = try? await self.sessions.signedIn(by: request.requester), live.isEmpty {
            return .seeOther(Page.signedOut)
        }
        return Page.signOut(request, returnTo: returnTo, stay: self.pageBefore(request) ?? "/")
    }

    /// Returns the page of this host in `Referer`. `nil` if none exists, or if it is a page for signing in or out.
    private func pageBefore(_ request: EndpointRequest) -> String? {
        guard let referrer = request.field("referer"), ReturnTo.url(referrer)?.origin == request.origin else {
            return nil
        }
        let page = self.returnTo([referrer], request)
        let isOfSignOut = [Page.logout, Page.signedOut, SignInPath.path].contains { page.hasPrefix($0) }
        return isOfSignOut ? nil : page
    }

    /// Answers `POST /.sallyport/logout` once every loop has forgotten the session: 303 to the provider's sign-out page
    /// if there is one, otherwise to `return_to` or `/.sallyport/signed-out`. If the store cannot confirm the end, 503
    /// with the button's page.
    ///
    /// With `Accept: application/json`, the answer is 204, or 200 with the provider's sign-out page in `redirect_to`.
    ///
    /// A token in a header takes precedence over the cookie. No other site can make a browser send such a header.
    func signOut(_ request: EndpointRequest) async -> EndpointResponse {
        if let token = request.credentials.explicitToken { return await self.signOut(token, request) }
        let form = try? BodyParameters(request, accepting: [.form])
        let returnTo = self.returnTo([form?.text("return_to")].compactMap(\.self), request)
        let wantsJSON = request.field("accept")?.lowercased().utf8.contains("application/json".utf8) ?? false
        guard SameOrigin.isProven(request) else {
            await self.sessions.recordDenial(.requestCrossSite, for: request.requester)
            return wantsJSON
                ? .problem(.requestCrossSite, requestID: request.requestID)
                : Page.signOut(request, returnTo: returnTo, reason: .requestCrossSite)
        }
        let onward: String?
        let cleared: [(name: String, value: String)]
        do throws(NotDone) {
            (onward, cleared) = try await self.end(request, leadingTo: returnTo)
        } catch {
            guard !wantsJSON else { return .problem(error.reason, requestID: request.requestID) }
            return Page.signOut(request, returnTo: returnTo, notice: .signOutUncertain, reason: error.reason)
        }
        if wantsJSON {
            return onward.map { .json(200, ["redirect_to": .string($0)], fields: cleared) }
                ?? .noContent(fields: cleared)
        }
        return .seeOther(onward ?? self.signedOutPage(leadingTo: returnTo), fields: cleared)
    }

    /// Ends the sessions that the request's cookies present.
    ///
    /// - Parameter path: A safe path on this host, where the browser goes in the end.
    /// - Returns: The provider's sign-out page, if any, and the fields that clear the cookie and other site data.
    func end(
        _ request: EndpointRequest,
        leadingTo path: String
    ) async throws(NotDone) -> (onward: String?, cleared: [(name: String, value: String)]) {
        let ended = try await self.sessions.signOutBrowser(of: request.requester)
        let place = SignOutReturn(origin: request.origin, path: path)
        let onward = await self.providerSignOut?.url(after: ended, leadingTo: place)
        return (onward, [("set-cookie", self.cookies.cookie(request).clearing())] + self.sessions.siteDataFields)
    }

    /// Answers `GET /.sallyport/signed-out`, where a sign-out ends: redirects to the wanted page, or says that the user
    /// is signed out. It never redirects to `/`, where a provider could sign the user in again.
    ///
    /// Without a wanted page, a browser that is signed in (e.g. after going back) is redirected to the sign-out page.
    func signedOut(_ request: EndpointRequest) async -> EndpointResponse {
        let place = request.only("state").flatMap { self.providerSignOut?.place(of: $0) }
        guard let place, place.path != "/" else {
            let isOfThisHost = place.map { $0.origin == request.origin } ?? true
            if isOfThisHost, let live = try? await self.sessions.signedIn(by: request.requester),
                !live.isEmpty
            {
                return .seeOther(Page.logout)
            }
            return Page.signedOut(
                request,
                signIn: SignInPath.url(on: place?.origin ?? request.origin, by: request.design)
            )
        }
        return .seeOther(place.origin + place.path)
    }

    private func signedOutPage(leadingTo returnTo: String) -> String {
        self.providerSignOut != nil && returnTo == "/" ? Page.signedOut : returnTo
    }

    /// Ends the session of a program's token: 204, even if the session has already ended.
    private func signOut(_ token: Secret, _ request: EndpointRequest) async -> EndpointResponse {
        do {
            try await self.sessions.signOutApp(token, for: request.requester)
            return .noContent()
        } catch {
            return .problem(error.reason, requestID: request.requestID)
        }
    }
}
