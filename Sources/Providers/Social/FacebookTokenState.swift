import Vocabulary

/// What Facebook's debug endpoint says about a token.
enum FacebookTokenState: Sendable, Equatable {
    /// - Parameters:
    ///   - begin: When the token was made; nil: Facebook does not say it of every token.
    ///   - end: From then on the token is good no more.
    case live(user: String, begin: UnixTime?, end: UnixTime)
    case refused(detail: String)
    case unavailable(detail: String)

    /// - Parameter leeway: How far the clocks may differ.
    init(_ answer: ProviderAnswer, appID: String, now: UnixTime, leeway: Duration) {
        let document = answer.json(maxDepth: 16)
        guard answer.status == 200 else {
            self = Self.failure(answer.status, document?["error"])
            return
        }
        guard let data = document?["data"], case .bool(let isValid) = data["is_valid"] else {
            self = .unavailable(detail: "the answer of the debug endpoint cannot be read")
            return
        }
        guard isValid else {
            self = .refused(detail: "the token is not valid")
            return
        }
        self = Self.state(data, appID: appID, now: now, leeway: leeway)
    }

    private static func state(_ data: JSONValue, appID: String, now: UnixTime, leeway: Duration) -> Self {
        // Tokens of apps, pages and system users are not held by the user whom they name.
        guard data["type"].map({ $0 == "USER" }) ?? true, data["profile_id"] == nil else {
            return .refused(detail: "the token is not that of a user")
        }
        guard let app = Self.id(data["app_id"]) else { return .unavailable(detail: "the answer names no app") }
        guard app.isExactly(appID) else { return .refused(detail: "the token is for another app") }
        guard let user = Self.id(data["user_id"]) else { return .unavailable(detail: "the answer names no user") }
        let claims = UserClaims([data])
        // 0: the token itself never ends, but the app's access to the user's data does.
        let ends = ["expires_at", "data_access_expires_at"].compactMap { claims.time(at: $0) }
        guard let end = ends.first(where: { $0.milliseconds > 0 })?.advanced(by: leeway) else {
            return .refused(detail: "the token has no end, so that it could be presented again for ever")
        }
        guard now < end else { return .refused(detail: "the token has expired") }
        return .live(user: user, begin: claims.time(at: "issued_at"), end: end)
    }

    /// An answer with an error. `OAuthException` 100 is about the parameter: the token is malformed or another app's. All
    /// other codes are about the gateway's own credentials, too many calls or a fault of Facebook's.
    private static func failure(_ status: Int, _ error: JSONValue?) -> Self {
        if status == 400, error?["type"] == "OAuthException", error?["code"] == 100 {
            return .refused(detail: "the token is malformed or for another app (code 100)")
        }
        guard case .integer(let code) = error?["code"] else {
            return .unavailable(detail: "the debug endpoint answered with status \(status)")
        }
        return .unavailable(detail: "the debug endpoint answered with status \(status), code \(code)")
    }

    /// Ids are texts of digits, and in some answers numbers.
    private static func id(_ value: JSONValue?) -> String? {
        switch value {
        case .string(let text) where !text.isEmpty: text
        case .integer(let number): String(number)
        default: nil
        }
    }
}
