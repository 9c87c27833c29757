internal import Endpoints
internal import Vocabulary

/// The cookie in which a browser keeps the times of the latest sign-ins that gave it a session on this host, at the
/// provider or by a ticket of another host. If it still comes without a session, another redirect would not help.
struct CompletedSignIns: Sendable {
    /// The name of the session cookie, with which the name of this one begins.
    let sessionCookie: String

    private static let label = "recent"
    /// So many completed sign-ins within the period are a loop: something loses the sessions.
    private static let most = 3
    private static let period: Duration = .seconds(60)

    /// Whether the browser has completed so many sign-ins in a short time that another one would not help.
    func isRepeating(_ request: EndpointRequest, at now: UnixTime) -> Bool {
        self.times(request, at: now).count >= Self.most
    }

    /// The `Set-Cookie` field that notes a completed sign-in.
    func note(_ request: EndpointRequest, at now: UnixTime) -> (name: String, value: String) {
        let times = (self.times(request, at: now) + [now.seconds]).suffix(Self.most)
        let value = Secret(times.map(String.init).joined(separator: "."))
        let cookie = SessionCookie(
            name: "\(self.sessionCookie)-\(Self.label)",
            isSecure: request.isSecure,
            maxAge: Int(Self.period.components.seconds)
        )
        return ("set-cookie", cookie.setting(value))
    }

    /// The times of the period, in seconds since 1970. They are not sealed: a browser that changes them only changes
    /// what it is shown.
    private func times(_ request: EndpointRequest, at now: UnixTime) -> [Int64] {
        guard let value = request.credentials.companion(Self.label), value.bytes.count <= 64 else { return [] }
        return String(decoding: value.bytes, as: UTF8.self).split(separator: ".").compactMap { Int64($0) }
            .filter { $0 > 0 && (0..<Self.period.components.seconds).contains(now.seconds - $0) }
    }
}
