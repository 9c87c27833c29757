import Vocabulary

/// Refusals in the format of Ory's herodot library. Kratos's clients require `message`.
enum Herodot {
    private static let texts: [Int: (status: String, message: String)] = [
        400: ("Bad Request", "The request was malformed or contained invalid parameters"),
        401: ("Unauthorized", "The request could not be authorized"),
        403: ("Forbidden", "The requested action was forbidden"),
        404: ("Not Found", "The requested resource could not be found"),
        410: ("Gone", "The requested resource is no longer available"),
        422: ("Unprocessable Entity", "The request was well-formed but could not be followed"),
        415: ("Unsupported Media Type", "The request is using an unknown content type"),
        429: ("Too Many Requests", "Too many requests"),
        503: ("Service Unavailable", "The service is temporarily unavailable"),
    ]

    /// Returns the status that Kratos uses for this reason: the status of the reason table, but 400 instead of 422.
    static func status(_ reason: Reason) -> Int { reason.status == 422 ? 400 : reason.status }

    /// Returns a refusal.
    ///
    /// - Parameters:
    ///   - text: The sentence in `error.reason`, in Kratos's wording if a client may compare it.
    ///   - id: The `error.id` with which some clients distinguish refusals.
    ///   - message: The `error.message`. `nil` for the message of the status.
    ///   - beside: Members next to `error`.
    ///   - status: Kratos's status, if it differs from the status of the reason.
    ///   - wait: The remaining time of a rate limit.
    static func error(
        _ reason: Reason,
        _ text: String,
        to request: EndpointRequest,
        id: String? = nil,
        message: String? = nil,
        beside: [String: JSONValue] = [:],
        status: Int? = nil,
        retryAfter wait: Duration? = nil
    ) -> EndpointResponse {
        var fields = reason.refusal?.retryFields(wait) ?? []
        if status == nil, reason.refusal?.challenge == .bearer {
            fields.append(("www-authenticate", Refusal.Challenge.anyBearer))
        }
        return self.envelope(
            status ?? self.status(reason),
            reason,
            text,
            requestID: request.requestID,
            id: id,
            message: message,
            beside: beside,
            fields: fields
        )
    }

    /// Returns 403 for a rule, a block or the session limit, and 429 or 503 with `Retry-After` for limits and outages.
    /// `nil` for other errors, whose answer depends on the endpoint.
    static func notDone(_ error: NotDone, to request: EndpointRequest) -> EndpointResponse? {
        if error.isUnavailable { return self.unavailable(error.reason, to: request) }
        if error.reason == .ruleDenied { return self.error(.ruleDenied, error.text ?? "Access denied.", to: request) }
        if error.reason == .sessionLimit {
            return self.error(.sessionLimit, "You are signed in on too many devices.", to: request)
        }
        if error.reason == .signInBlocked {
            return self.error(.signInBlocked, "This account is not allowed here.", to: request)
        }
        guard error.mayPass else { return nil }
        let text = "Too many sign-in attempts. Please try again later."
        return self.error(error.reason, text, to: request, retryAfter: error.retryAfter)
    }

    /// Returns 422 with the URL to which the app sends its user's browser. This answer is not a refusal.
    static func browserNeeded(_ url: String, to request: EndpointRequest) -> EndpointResponse {
        self.envelope(
            422,
            nil,
            "In order to complete this flow please redirect the browser to: \(url)",
            requestID: request.requestID,
            id: "browser_location_change_required",
            message: "browser location change required",
            beside: ["redirect_browser_to": .string(url)]
        )
    }

    /// Returns 503 with `Retry-After`. A client that mistook an outage for a rejection would discard its session.
    static func unavailable(_ reason: Reason, to request: EndpointRequest) -> EndpointResponse {
        self.error(reason, "Please try again in a moment.", to: request)
    }

    /// Makes the refusals of Kratos's endpoints for requests that do not reach their handlers.
    static let envelope: RefusalEnvelope = { reason, requestID in
        Self.envelope(
            Self.status(reason),
            reason,
            "The gateway rejected the request: \(reason.rawValue).",
            requestID: requestID
        )
    }

    private static func envelope(
        _ status: Int,
        _ reason: Reason?,
        _ text: String,
        requestID: String,
        id: String? = nil,
        message: String? = nil,
        beside: [String: JSONValue] = [:],
        fields: [(name: String, value: String)] = []
    ) -> EndpointResponse {
        let known = self.texts[status] ?? (StatusText.phrase(status), "The request failed")
        var error: [String: JSONValue] = [
            "code": .integer(Int64(status)), "status": .string(known.status), "reason": .string(text),
            "message": .string(message ?? known.message), "request": .string(requestID),
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
}

extension Endpoint {
    /// Returns an endpoint at a Kratos path. Its clients get all refusals in Kratos's format.
    static func kratos(
        _ path: String,
        _ methods: [String],
        outlivesClient: Bool = false,
        answer: @escaping @Sendable (EndpointRequest) async -> EndpointResponse
    ) -> Endpoint {
        Endpoint(
            path: path,
            methods: methods,
            outlivesClient: outlivesClient,
            envelope: Herodot.envelope,
            answer: answer
        )
    }
}
