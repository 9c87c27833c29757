import Endpoints
import Settings
import Vocabulary

/// How a denial is told: to a person by a login page, to a program by a status and a reason id.
extension DownstreamConnection {
    func denied(
        _ denial: Denial,
        _ head: RequestHead,
        _ base: Bytes,
        _ route: RouteEntry,
        _ credentials: Credentials
    ) -> LocalAnswer {
        switch denial {
        case .forbidden(let reason):
            return self.refusal(.problem(403, reason, requestID: self.facts.requestID), head, base)
        case .unauthenticated(let reason):
            let wantsLogin =
                switch route.settings.unauthenticated {
                case .auto: Navigation.wantsPage(head, base)
                case .login: head.knownMethod == .get || head.knownMethod == .head
                case .unauthorized: false
                }
            if wantsLogin { return self.toLogin(head, base, reason) }
            // The scheme is named, the reason only if a token was judged (RFC 6750 3.1).
            let isInvalid = credentials.presented != .none
            let challenge = isInvalid ? #"Bearer error="invalid_token""# : "Bearer"
            return self.refusal(
                .problem(401, reason, requestID: self.facts.requestID, fields: [("WWW-Authenticate", challenge)]),
                head,
                base
            )
        }
    }

    /// The login page of this host, which comes back to exactly this target.
    private func toLogin(_ head: RequestHead, _ base: Bytes, _ reason: Reason) -> LocalAnswer {
        // A token that this request could not use must not come back after the sign-in, for another user maybe.
        let asked = String(decoding: head.target.bytes(in: base), as: UTF8.self)
        let target = ReturnTo.removing(self.configuration.settings.handoff.queryParameter, from: asked) ?? "/"
        var location = (self.facts.host?.publicURL.description ?? "") + "/.sallyport/login?return_to="
        // Percent-encoded whole, so that nothing of it is a parameter of the login page.
        for byte in target.utf8 {
            if byte &- 0x30 <= 9 || (byte | 0x20) &- 0x61 < 26 || byte == 0x2D || byte == 0x2E || byte == 0x5F
                || byte == 0x2F
            {
                location.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                let digits = Array("0123456789ABCDEF".unicodeScalars)
                location.unicodeScalars.append("%")
                location.unicodeScalars.append(digits[Int(byte >> 4)])
                location.unicodeScalars.append(digits[Int(byte & 15)])
            }
        }
        return .redirect(to: location, reason: reason)
    }
}
