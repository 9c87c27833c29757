import Endpoints
import Sessions
import Settings
import Vocabulary

/// The answer to a denial: a redirect to the sign-in page for a person, a status and a reason id for a program.
extension LocalAnswer {
    /// - Parameters:
    ///   - session: The session that does not suffice; nil if there is none.
    ///   - isJudged: Whether a credential was presented.
    ///   - isProofScheme: Whether it came as `DPoP`.
    ///   - asksApp: Whether a native app is asked for another transfer token in place of a sign-in.
    static func denial(
        _ denial: Denial,
        _ head: RequestHead,
        _ base: Bytes,
        route: RouteEntry,
        host: HostEntry,
        session: Session?,
        isJudged: Bool,
        isProofScheme: Bool,
        asksApp: Bool,
        configuration: PathConfiguration,
        requestID: RequestID,
        now: UnixTime
    ) -> LocalAnswer {
        let parameter = configuration.settings.handoff.queryParameter
        let provider = configuration.provider(of: host)
        let form = DenialForm.of(
            denial,
            head,
            base,
            route.settings,
            session: session,
            provider: provider,
            now: now
        )
        if case .signIn(let demand) = form, !asksApp {
            let path = SignInPath.leading(to: Self.ownTarget(head, base, without: parameter).utf8, demanding: demand)
            return .redirect(to: host.publicURL.description + path, reason: denial.reason)
        }
        let wantsPage = Navigation.wantsPage(head, base)
        // The page of a script's request, or of a posted form, is the one that the user sees.
        let page =
            wantsPage && head.knownMethod != .post
            ? Self.ownTarget(head, base, without: parameter) : Self.pageBefore(head, base, host, without: parameter)
        let native =
            asksApp ? NativeChallenge(realm: host.publicURL.description, target: page, without: parameter) : nil
        var fields = native?.fields ?? []
        // A page that goes to the app names one scheme, for whoever reads only the first.
        if native == nil || !wantsPage,
            let challenge = denial.challenge(route.settings.require, isJudged: isJudged, isProofScheme: isProofScheme)
        {
            fields.insert(("WWW-Authenticate", challenge), at: 0)
        }
        // A script sends its user to the sign-in page itself, with the page that it wants to return to.
        let signsIn = form != .forbidden && provider?.signsIn == true
        var answer = LocalAnswer.problem(
            denial.reason,
            requestID: requestID,
            loginURL: signsIn ? SignInPath.url(on: host.publicURL.description) : nil,
            fields: fields
        )
        answer.response.native = native
        if wantsPage {
            let demand = StepUp.demand(route.settings.require, denial, session, provider, now)
            // In a native app, the page before a posted form asks the app when it is opened.
            let asksLater = native != nil && head.knownMethod == .post
            answer.response.signIn = asksLater ? page : SignInPath.leading(to: page.utf8, demanding: demand)
        }
        return CrossOrigin.readable(answer, head, base, route)
    }

    /// The answer to a session that does not suffice for the provider itself: a person goes to the provider's page, a
    /// program gets the provider's document.
    static func demand(
        _ demand: ProviderDemand,
        _ head: RequestHead,
        _ base: Bytes,
        route: RouteEntry,
        host: HostEntry,
        configuration: PathConfiguration
    ) -> LocalAnswer {
        let isPage = head.knownMethod == .get || head.knownMethod == .head
        if isPage, route.settings.unauthenticated != .unauthorized, Navigation.wantsPage(head, base) {
            let path = Self.ownTarget(head, base, without: configuration.settings.handoff.queryParameter)
            if let page = demand.page(leadingTo: host.publicURL.description + path) {
                return .redirect(to: page, reason: .requireAAL)
            }
        }
        let response = EndpointResponse(
            status: Reason.requireAAL.status,
            fields: [("Content-Type", "application/json"), ("Cache-Control", "no-store")],
            body: demand.document,
            reason: .requireAAL
        )
        return CrossOrigin.readable(LocalAnswer(response), head, base, route)
    }

    /// The path and query of this request, to return to after a sign-in: without a transfer token that this request
    /// could not use, because it must not come back then, possibly for another user.
    private static func ownTarget(_ head: RequestHead, _ base: Bytes, without parameter: String) -> String {
        let target = String(decoding: head.target.bytes(in: base), as: UTF8.self)
        return ReturnTo.removing(parameter, from: target) ?? "/"
    }

    /// The page of this host with the posted form, as named by `Referer`; `/` if it names none.
    private static func pageBefore(
        _ head: RequestHead,
        _ base: Bytes,
        _ host: HostEntry,
        without parameter: String
    ) -> String {
        guard let referer = head.value(.referer, in: base) else { return "/" }
        // The path begins at the third slash.
        let slashes = referer.indices.filter { referer[$0] == UInt8(ascii: "/") }
        let end = slashes.count > 2 ? slashes[2] : referer.endIndex
        guard WebOrigin.isSame(referer[..<end], as: host.origin) else { return "/" }
        let page = String(decoding: referer[end...], as: UTF8.self)
        return ReturnTo.sanitized(page, without: parameter) ?? "/"
    }
}
