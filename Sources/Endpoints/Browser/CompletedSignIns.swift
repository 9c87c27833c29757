import Vocabulary

/// The cookie in which a browser keeps the times of the latest sign-ins that gave it a session on this host, at the
/// provider or by a ticket of another host. If it still comes without a session, another redirect would not help.
struct CompletedSignIns: Sendable {
    /// The name of the session cookie, with which the name of this one begins.
    let sessionCookie: String

    /// So many completed sign-ins within the period are a loop: something loses the sessions.
    var most = 3
    var period: Duration = .seconds(60)

    private static let label = "recent"

    /// The same of sign-ins that were begun at a provider from whose pages the browser comes back unnoticed: a loop turns
    /// within moments, and a user may open some pages at once.
    static func begun(sessionCookie: String) -> CompletedSignIns {
        CompletedSignIns(sessionCookie: sessionCookie, most: 6, period: .seconds(10))
    }

    /// Whether the browser has completed so many sign-ins in a short time that another one would not help.
    func isRepeating(_ request: EndpointRequest, at now: UnixTime) -> Bool {
        self.times(request, at: now).count >= self.most
    }

    /// The `Set-Cookie` field that notes a completed sign-in.
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

    /// The times of the period, in seconds since 1970. They are not sealed: a browser that changes them only changes
    /// what it is shown.
    private func times(_ request: EndpointRequest, at now: UnixTime) -> [Int64] {
        guard let value = request.credentials.companion(Self.label), value.bytes.count <= 128 else { return [] }
        return String(decoding: value.bytes, as: UTF8.self).split(separator: ".").compactMap { Int64($0) }
            .filter { $0 > 0 && (0..<self.period.components.seconds).contains(now.seconds - $0) }
    }
}
