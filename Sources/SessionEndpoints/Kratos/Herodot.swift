internal import Endpoints
internal import Vocabulary

/// Errors in the envelope of Ory's herodot, which Kratos clients parse: `message` must be there, `id` often is not.
enum Herodot {
    private static let statuses: [Int: (status: String, message: String)] = [
        400: ("Bad Request", "The request was malformed or contained invalid parameters"),
        401: ("Unauthorized", "The request could not be authorized"),
        403: ("Forbidden", "The requested action was forbidden"),
        404: ("Not Found", "The requested resource could not be found"),
        410: ("Gone", "The requested resource is no longer available"),
        415: ("Unsupported Media Type", "The request is using an unknown content type"),
        429: ("Too Many Requests", "Too many requests"),
        503: ("Service Unavailable", "The service is temporarily unavailable"),
    ]

    /// - Parameters:
    ///   - reason: Our reason id, for the log.
    ///   - text: The sentence in `error.reason`, as Kratos words it where a client may look at it.
    ///   - message: `error.message`; nil: the status's own.
    ///   - beside: Members beside `error`.
    static func error(
        _ status: Int,
        _ reason: Reason,
        _ text: String,
        id: String? = nil,
        message: String? = nil,
        beside: [String: JSONValue] = [:],
        fields: [(name: String, value: String)] = []
    ) -> EndpointResponse {
        let known = self.statuses[status] ?? ("Error", "The request failed")
        var error: [String: JSONValue] = [
            "code": .integer(Int64(status)), "status": .string(known.status), "reason": .string(text),
            "message": .string(message ?? known.message),
        ]
        var fields = fields
        if let id {
            error["id"] = .string(id)
            fields.append(("ory-error-id", id))
        }
        return .json(
            status,
            .object(beside.merging(["error": .object(error)], uniquingKeysWith: { $1 })),
            fields: fields,
            reason: reason
        )
    }

    /// 503 with `Retry-After`: a client that took it for a refusal would throw its session away.
    static func unavailable(_ reason: Reason) -> EndpointResponse {
        self.error(503, reason, "Please try again in a moment.", fields: [("retry-after", "1")])
    }
}
