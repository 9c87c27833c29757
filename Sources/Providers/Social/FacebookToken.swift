import Calls
import Vocabulary

/// A valid token, as Facebook's debug endpoint describes it.
struct FacebookToken: Sendable, Equatable {
    let user: String
    /// The time when the token was issued; `nil` if Facebook does not report it.
    let begin: UnixTime?
    /// The time when the token expires, with the leeway.
    let end: UnixTime

    /// - Parameter leeway: The maximum difference between the clocks.
    init(_ answer: CallAnswer, appID: String, now: UnixTime, leeway: Duration) throws(ProviderFault) {
        let document = answer.json(maxDepth: 16)
        guard answer.status == 200 else { throw Self.failure(answer.status, document?["error"]) }
        guard let data = document?["data"], case .bool(let isValid) = data["is_valid"] else {
            throw ProviderFault("the answer of the debug endpoint cannot be read", isOutage: true)
        }
        guard isValid else { throw ProviderFault("the token is not valid") }
        // Tokens of apps, pages and system users are not in the hands of the user that they name.
        guard data["type"].map({ $0 == "USER" }) ?? true, data["profile_id"] == nil else {
            throw ProviderFault("the token is not that of a user")
        }
        guard let app = Self.id(data["app_id"]) else {
            throw ProviderFault("the answer names no app", isOutage: true)
        }
        guard app.isExactly(appID) else { throw ProviderFault("the token is for another app") }
        guard let user = Self.id(data["user_id"]) else {
            throw ProviderFault("the answer names no user", isOutage: true)
        }
        let claims = UserClaims([data])
        // 0 means never. Then the end of the app's access to the user's data applies.
        let ends = ["expires_at", "data_access_expires_at"].compactMap { claims.time(at: $0) }
        guard let end = ends.first(where: { $0.milliseconds > 0 })?.advanced(by: leeway) else {
            throw ProviderFault("the token has no end, so that it could be presented again for ever")
        }
        guard now < end else { throw ProviderFault("the token has expired") }
        self.user = user
        self.begin = claims.time(at: "issued_at")
        self.end = end
    }

    /// Returns the fault of an error answer. `OAuthException` 100 means that the token is malformed or of another app.
    /// Other codes concern the gateway's own credentials, a rate limit or an error at Facebook.
    private static func failure(_ status: Int, _ error: JSONValue?) -> ProviderFault {
        if status == 400, error?["type"] == "OAuthException", error?["code"] == 100 {
            return ProviderFault("the token is malformed or for another app (code 100)")
        }
        guard case .integer(let code) = error?["code"] else {
            return ProviderFault("the debug endpoint answered with status \(status)", isOutage: true)
        }
        return ProviderFault("the debug endpoint answered with status \(status), code \(code)", isOutage: true)
    }

    /// Returns an id, which is a text or, in some answers, a number.
    private static func id(_ value: JSONValue?) -> String? {
        switch value {
        case .string(let text) where !text.isEmpty: text
        case .integer(let number): String(number)
        default: nil
        }
    }
}
