import Vocabulary

/// The cookie with the times of the browser's latest sign-ins on this host. Many sign-ins in a short time are a loop:
/// the browser loses its session, and another redirect would not help.
struct CompletedSignIns: Sendable {
    /// The name of the session cookie, with which this cookie's name begins.
    let sessionCookie: String

    /// The number of sign-ins within `period` that is a loop.
    var most = 3
    var period: Duration = .seconds(60)

    private static let label = "recent"

    /// Returns the cookie for sign-ins at a provider's own pages. It counts their beginnings, because the gateway does
    /// not see their ends. The limit is higher, because a user may open several pages at once.
    static func begun(sessionCookie: String) -> CompletedSignIns {
        CompletedSignIns(sessionCookie: sessionCookie, most: 6, period: .seconds(10))
    }

    /// Returns whether the browser signs in so often that another sign-in would not help.
    func isRepeating(_ request: EndpointRequest, at now: UnixTime) -> Bool {
        self.times(request, at: now).count >= self.most
    }

    /// Returns the `Set-Cookie` field that records a sign-in.
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
