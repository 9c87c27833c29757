import Vocabulary

/// Cookies that a browser keeps while it is on another site, one for each tab.
///
/// The total size is limited. If a browser has too many of these cookies, the oldest are shortened: their sign-ins
/// cannot be completed, but the page to return to is kept.
struct KeptCookies: Sendable {
    /// The name of the session cookie, with which these cookies' names begin.
    let sessionCookie: String
    /// The part of the names between the session cookie's name and the id.
    let prefix: String
    /// The lifetime of a whole cookie.
    let lifetime: Duration
    /// The maximum number of whole cookies.
    let most: Int

    /// The maximum number of shortened cookies. The oldest ones are deleted.
    private static let maxShortened = 20
    /// The lifetime of a shortened cookie. It is long, because users often leave tabs alone for a while.
    private static let shortLifetime = Duration.seconds(3600)
    /// The maximum size of all cookies in bytes: half of a request's 16 KiB, because apps need cookies, too.
    private static let room = 8192

    /// A readable value of a cookie.
    struct Kept {
        let begunAt: UnixTime
        /// Returns a shorter value. `nil` if the value cannot be shortened.
        let shortened: () -> Secret?
    }

    /// Returns the value for `id`, whole or shortened. `nil` if there is no cookie.
    func kept(_ id: String, _ request: EndpointRequest) -> Secret? {
        guard Self.isID(id) else { return nil }
        return request.credentials.companion(self.prefix + id) ?? request.credentials.companion(self.shortPrefix + id)
    }

    /// Returns the `Set-Cookie` fields for a new value. If a limit is exceeded, they also shorten the oldest values, or
    /// delete them. Expired and unreadable values are deleted.
    ///
    /// - Parameter read: Reads a value with its id. Returns `nil` for a value that the gateway did not make.
    func keep(
        _ kept: Secret,
        id: String,
        _ request: EndpointRequest,
        now: UnixTime,
        reading read: (_ kept: Secret, _ id: String) -> Kept?
    ) -> [(name: String, value: String)] {
        var (whole, cleared) = self.present(self.prefix, request, youngerThan: self.lifetime, now, read)
        var (short, gone) = self.present(self.shortPrefix, request, youngerThan: Self.shortLifetime, now, read)
        var shortened: [(id: String, value: Secret)] = []
        var size = whole.reduce(kept.bytes.count) { $0 + $1.size }
        func shorten(_ other: Present, to value: Secret?) {
            size -= other.size
            cleared.append(other.id)
            guard let value else { return }
            shortened.append((other.id, value))
            short.append(Present(id: other.id, kept: other.kept, size: value.bytes.count))
        }
        while let oldest = whole.first, whole.count >= self.most || size > Self.room {
            shorten(whole.removeFirst(), to: oldest.kept.shortened())
        }
        short.sort { $0.kept.begunAt < $1.kept.begunAt }
        var shortSize = short.reduce(0) { $0 + $1.size }
        while size + shortSize > Self.room || short.count > Self.maxShortened, let first = short.first {
            // If it saves at least a quarter, a whole cookie is shortened before a short cookie is deleted.
            if short.count <= Self.maxShortened, let oldest = whole.first, let value = oldest.kept.shortened(),
                value.bytes.count * 4 <= oldest.size * 3
            {
                shorten(whole.removeFirst(), to: value)
                shortSize += value.bytes.count
            } else {
                shortSize -= first.size
                gone.append(short.removeFirst().id)
            }
        }
        let added = shortened.filter { !gone.contains($0.id) }
        gone.removeAll { id in shortened.contains { $0.id == id } }
        return [self.setting(kept, self.prefix + id, request, for: self.lifetime)]
            + added.map { self.setting($0.value, self.shortPrefix + $0.id, request, for: Self.shortLifetime) }
            + cleared.map { self.clearing(self.prefix + $0, request) }
            + gone.map { self.clearing(self.shortPrefix + $0, request) }
    }

    /// Returns the `Set-Cookie` fields that delete the cookies for `id`.
    func clear(_ id: String, _ request: EndpointRequest) -> [(name: String, value: String)] {
        [self.prefix, self.shortPrefix].map { $0 + id }.filter { label in
            request.credentials.companions.contains { $0.label == label }
        }.map { self.clearing($0, request) }
    }

    // MARK: Steps

    private struct Present {
        let id: String
        let kept: Kept
        let size: Int
    }

    private var shortPrefix: String { "past-" + self.prefix }

    /// Returns the request's valid cookies with this prefix, the oldest first, and the ids of invalid ones.
    private func present(
        _ prefix: String,
        _ request: EndpointRequest,
        youngerThan age: Duration,
        _ now: UnixTime,
        _ read: (_ kept: Secret, _ id: String) -> Kept?
    ) -> (present: [Present], cleared: [String]) {
        var present: [Present] = []
        var cleared: [String] = []
        for cookie in request.credentials.companions where cookie.label.hasPrefix(prefix) {
            let id = String(cookie.label.dropFirst(prefix.count))
            guard Self.isID(id) else { continue }
            if let kept = read(cookie.value, id), now.since(kept.begunAt) <= age {
                present.append(Present(id: id, kept: kept, size: cookie.value.bytes.count))
            } else {
                cleared.append(id)
            }
        }
        return (present.sorted { $0.kept.begunAt < $1.kept.begunAt }, cleared)
    }

    private func setting(
        _ value: Secret,
        _ label: String,
        _ request: EndpointRequest,
        for lifetime: Duration
    ) -> (name: String, value: String) {
        let age = Int(lifetime.components.seconds)
        return ("set-cookie", self.cookie(label, request, maxAge: age).setting(value))
    }

    private func clearing(_ label: String, _ request: EndpointRequest) -> (name: String, value: String) {
        ("set-cookie", self.cookie(label, request).clearing())
    }

    private func cookie(_ label: String, _ request: EndpointRequest, maxAge: Int? = nil) -> SessionCookie {
        SessionCookie(name: "\(self.sessionCookie)-\(label)", reach: request.cookieReach, maxAge: maxAge)
    }

    /// Returns whether the text can be an id, and thus a part of a cookie's name.
    private static func isID(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { $0 &- 0x30 <= 9 || ($0 | 0x20) &- 0x61 < 26 || $0 == 0x2D || $0 == 0x5F }
    }
}
