internal import Endpoints
internal import Vocabulary

/// The cookies of one purpose that a browser keeps while it is elsewhere: one for each id, because several tabs may be
/// on their way at once.
struct KeptCookies: Sendable {
    /// The name of the session cookie, with which the names of these begin.
    let sessionCookie: String
    /// What follows in the names, before the id.
    let prefix: String
    /// How long a browser keeps them.
    let lifetime: Duration

    /// How many a browser keeps at once; the oldest go.
    private static let most = 5
    /// How many bytes of them: a request may have 16 KiB of cookies, and the app needs some of them.
    private static let room = 8192

    /// What the browser has kept under `id`; nil if it has nothing.
    func kept(_ id: String, _ request: EndpointRequest) -> Secret? {
        Self.isID(id) ? request.credentials.companion(self.prefix + id) : nil
    }

    /// The `Set-Cookie` fields that keep a new value, and that clear those that have expired or have no room beside it.
    ///
    /// - Parameter begunAt: When the value with this id was made; nil if it has expired or was never made.
    func keep(
        _ kept: Secret,
        id: String,
        _ request: EndpointRequest,
        begunAt: (_ kept: Secret, _ id: String) -> UnixTime?
    ) -> [(name: String, value: String)] {
        var others: [(id: String, begunAt: UnixTime, size: Int)] = []
        var gone: [String] = []
        for cookie in request.credentials.companions where cookie.label.hasPrefix(self.prefix) {
            let other = String(cookie.label.dropFirst(self.prefix.count))
            guard Self.isID(other) else { continue }
            if let time = begunAt(cookie.value, other) {
                others.append((other, time, cookie.value.bytes.count))
            } else {
                gone.append(other)
            }
        }
        others.sort { $0.begunAt < $1.begunAt }
        var size = others.reduce(kept.bytes.count) { $0 + $1.size }
        while let oldest = others.first, others.count >= Self.most || size > Self.room {
            size -= oldest.size
            gone.append(others.removeFirst().id)
        }
        let age = Int(self.lifetime.components.seconds)
        return [("set-cookie", self.cookie(id, request, maxAge: age).setting(kept))]
            + gone.map { self.clear($0, request) }
    }

    /// The `Set-Cookie` field that clears what is kept under `id`.
    func clear(_ id: String, _ request: EndpointRequest) -> (name: String, value: String) {
        ("set-cookie", self.cookie(id, request).clearing())
    }

    private func cookie(_ id: String, _ request: EndpointRequest, maxAge: Int? = nil) -> SessionCookie {
        SessionCookie(name: "\(self.sessionCookie)-\(self.prefix)\(id)", reach: request.cookieReach, maxAge: maxAge)
    }

    /// Whether the text can be an id: nothing else goes into a `Set-Cookie` field.
    private static func isID(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { $0 &- 0x30 <= 9 || ($0 | 0x20) &- 0x61 < 26 || $0 == 0x2D || $0 == 0x5F }
    }
}
