import Vocabulary

/// The cookie with the times of the latest sign-ins that gave the browser a session on this host, at the provider or
/// with a ticket of another host. If the browser still has no session, another redirect would not help.
struct CompletedSignIns: Sendable {
    /// The name of the session cookie. This cookie's name begins with it.
    let sessionCookie: String

    /// The number of completed sign-ins within `period` that indicates a loop: something loses the sessions.
    var most = 3
    var period: Duration = .seconds(60)

    private static let label = "recent"

    /// Returns the cookie for sign-ins at a provider's own pages. The gateway does not notice when such a sign-in ends.
    /// The period is short, because a loop repeats within moments. The limit is higher, because a user may open several
    /// pages at once.
    static func begun(sessionCookie: String) -> CompletedSignIns {
        CompletedSignIns(sessionCookie: sessionCookie, most: 6, period: .seconds(10))
    }

    /// Returns whether the browser completed so many sign-ins in a short time that another one would not help.
    func isRepeating(_ request: EndpointRequest, at now: UnixTime) -> Bool {
        self.times(request, at: now).count >= self.most
    }

    /// Returns the `Set-Cookie` field that records a completed sign-in.
    func note(_ request: EndpointRequest, at now: UnixTime) -> (name: String, value: String) {
        let times = (self.times(request, at: now) + [now.seconds]).suffix(self.most)
        let value = Secret(times.map(String.init).joined(separator: "."))
        let cookie = SessionCookie(
            name: "\(self.sessionCookie)-\(Self.label)",
            reach: request.cookieReach,
            maxAge: Int(self.period.components.seconds)
        )
        return ("set-cookie", cookie.setting(value))
    }

    /// Returns the times within the period, in seconds since 1970. A browser that changes them harms only itself.
    private func times(_ request: EndpointRequest, at now: UnixTime) -> [Int64] {
        guard let value = request.credentials.companion(Self.label), value.bytes.count <= 128 else { return [] }
        return String(decoding: value.bytes, as: UTF8.self).split(separator: ".").compactMap { Int64($0) }
            .filter { $0 > 0 && (0..<self.period.components.seconds).contains(now.seconds - $0) }
    }
}
