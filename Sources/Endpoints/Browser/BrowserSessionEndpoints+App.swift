import Providers
import Sessions
import Settings
import SignOn
import Vocabulary

/// Sign-in in the browser for a native app. The browser's own session is not changed.
extension BrowserSessionEndpoints {
    /// Returns the endpoint `/.sallyport/app`, which begins the sign-in for the flow in the query. If there are several
    /// providers and the query names none, the user chooses. `nil` if users sign in only at a provider's own pages.
    func appEndpoint(_ native: NativeSignIns) -> Endpoint? {
        let ways = self.ways.all.filter { if case .pages = $0.kind { false } else { true } }
        guard !ways.isEmpty else { return nil }
        let methods = ["GET", "HEAD"] + (self.takesForm ? ["POST"] : [])
        return Endpoint(path: AppSignInPath.path, methods: methods, outlivesClient: methods.count > 2) { request in
            if request.method == "POST" {
                if let form = self.identifierForm(request) {
                    return await self.withApp(request, native) { app, kept in
                        let demand = kept.wish.demand
                        return await self.identify(request, form, app, demand, among: ways) { ways, address in
                            self.ask(app, request, among: ways, identifier: address)
                        }
                    }
                }
                guard let passwords = self.ways.passwords else { return self.refuseMethod(request) }
                return await self.signIn(forApp: request, native.signing(in: passwords.sessions.realm), passwords)
            }
            let named = request.only(AppSignInPath.provider).flatMap { name in ways.first { $0.name == name } }
            guard let way = named ?? (ways.count == 1 ? ways[0] : nil), case .provider(let flow) = way.kind else {
                return await self.withApp(request, native) { app, _ in
                    if named == nil, self.asksForIdentifier(request, ways) {
                        return Page.askForIdentifier(request, self.form(of: app))
                    }
                    return self.ask(app, request, among: named.map { [$0] } ?? ways)
                }
            }
            guard request.method == "GET" else { return .noContent() }
            guard request.isPageLoad else { return self.refuse(.signInNotNavigation, request) }
            return await self.withApp(request, native) { app, kept in
                await self.begin(request, flow, returnTo: "/", demanding: kept.wish.demand, for: app)
            }
        }
    }

    /// Calls `answer` with the app of the flow in `form`, or in the query if `form` is `nil`. Refuses an invalid flow.
    private func withApp(
        _ request: EndpointRequest,
        _ native: NativeSignIns,
        _ form: BodyParameters? = nil,
        then answer: (WaitingApp, KeptFlow) async -> EndpointResponse
    ) async -> EndpointResponse {
        func value(_ name: String) -> String? { form.map { $0.text(name) } ?? request.only(name) }
        guard let id = value(AppSignInPath.flow) else { return self.refuse(.signInFlowUnknown, request) }
        do {
            guard let kept = try await native.flow(id) else { return self.refuse(.signInFlowUnknown, request) }
            guard !native.isExpired(kept) else { return self.refuse(.signInFlowExpired, request) }
            let asked = native.settings.dialect == .documented ? value(AppSignInPath.returnTo) : nil
            guard let returnTo = native.returnTo(of: kept, asked: asked) else {
                return self.refuse(.signInReturnToForbidden, request)
            }
            return await answer(WaitingApp(flow: id, returnTo: returnTo), kept)
        } catch {
            return self.refuse(error.reason, request)
        }
    }

    // MARK: With a password

    /// Returns a page with the form for a password and links to the providers.
    ///
    /// - Parameter ways: The offered ways. `nil` for the form only.
    private func ask(
        _ app: WaitingApp,
        _ request: EndpointRequest,
        among ways: [SignInWay]? = nil,
        notice: Page.Notice? = nil,
        identifier: String = "",
        reason: Reason? = nil
    ) -> EndpointResponse {
        let form = Page.Form(
            action: AppSignInPath.path,
            hidden: [(AppSignInPath.flow, app.flow), (AppSignInPath.returnTo, app.returnTo)]
        )
        return Page.signIn(
            request,
            self.offer(ways ?? self.ways.all.filter(\.hasForm), form, request) { way in
                AppSignInPath.target(flow: app.flow, returnTo: app.returnTo, provider: way.name)
            },
            notice: notice,
            identifier: identifier,
            reason: reason
        )
    }

    /// Answers `POST /.sallyport/app`: 303 to the app with a code, the form again, or a page with a refusal.
    private func signIn(
        forApp request: EndpointRequest,
        _ native: NativeSignIns,
        _ passwords: PasswordSignIn
    ) async -> EndpointResponse {
        guard let form = try? BodyParameters(request, accepting: [.form]) else {
            return self.refuse(.signInMalformed, request)
        }
        let requester = request.requester
        // Login CSRF: a page of another site must not sign an app in as another user.
        guard SameOrigin.isProven(request) else {
            let account = form.text("identifier").flatMap { passwords.accountName(of: $0) }
            await self.sessions.recordDenial(.requestCrossSite, account: account, for: requester)
            return self.refuse(.requestCrossSite, request)
        }
        return await self.withApp(request, native, form) { app, kept in
            guard let identifier = form.text("identifier"), let password = form.text("password") else {
                return self.ask(
                    app,
                    request,
                    notice: .incomplete,
                    identifier: form.text("identifier") ?? "",
                    reason: .signInIncomplete
                )
            }
            do throws(NotDone) {
                let code = try await passwords.check(
                    identifier: identifier,
                    password: Secret(password),
                    kind: .native,
                    for: requester
                ) { user, account throws(NotDone) in
                    try await native.complete(
                        app.flow,
                        kept,
                        with: user,
                        evidence: nil,
                        account: account,
                        for: requester
                    )
                }
                return Self.leave(for: app, with: code, native)
            } catch {
                return self.ask(
                    app,
                    request,
                    notice: Page.Notice(error),
                    identifier: identifier,
                    reason: error.reason
                )
            }
        }
    }

    // MARK: At a provider

    /// Answers with 303 to the app with a code, even if the sign-in failed, or to the provider if the sign-in begins
    /// again. An unknown flow gets a page. If the provider cannot answer, or the store cannot look up the flow, the
    /// cookies stay and the user can reload the page.
    func completeSignIn(
        _ request: EndpointRequest,
        _ flow: BrowserSignInFlow,
        _ native: NativeSignIns,
        for app: WaitingApp,
        _ pending: KeptSignIn,
        clearing cleared: [(name: String, value: String)]
    ) async -> EndpointResponse {
        let requester = request.requester
        var fields: [(name: String, value: String)] = []
        do throws(NotDone) {
            // The store is asked before the provider, so that a store outage does not use up the provider's code.
            guard let kept = try await native.flow(app.flow) else {
                return self.refuse(.signInFlowExpired, request, fields: cleared)
            }
            if pending.beginsAgain, !native.isExpired(kept) {
                return await self.begin(
                    request,
                    flow,
                    returnTo: pending.returnTo,
                    demanding: pending.demand,
                    for: app,
                    isRepeat: true,
                    fields: cleared
                )
            }
            let user: ProvenUser
            do throws(NotDone) {
                if pending.beginsAgain { throw NotDone(.signInFlowExpired) }
                user = try await flow.prove(pending, request.query, .native, for: requester)
            } catch {
                guard !error.mayPass else { throw error }
                fields = cleared
                let code = try await native.fail(app.flow, kept, error)
                return Self.leave(for: app, with: code, native, fields: cleared)
            }
            fields = cleared
            let code = try await native.complete(
                app.flow,
                kept,
                with: user.authentication,
                evidence: user.evidence,
                for: requester
            )
            return Self.leave(for: app, with: code, native, fields: cleared)
        } catch {
            return self.refuse(error.reason, request, retryAfter: error.retryAfter, fields: fields)
        }
    }

    private static func leave(
        for app: WaitingApp,
        with code: Secret,
        _ native: NativeSignIns,
        fields: [(name: String, value: String)] = []
    ) -> EndpointResponse {
        let names = native.settings.dialect == .documented ? ["code", "return_to_code"] : ["code"]
        return .seeOther(AppSignInPath.back(to: app.returnTo, code: code, in: names), fields: fields)
    }
}
