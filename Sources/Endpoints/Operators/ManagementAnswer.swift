import Vocabulary

/// Answers in the format of Auth0's Management API. Its clients do not parse problem documents.
enum ManagementAnswer {
    /// Makes refusals outside the handlers, e.g. for a wrong method or an invalid token.
    static let envelope: RefusalEnvelope = { reason, requestID in
        ManagementAnswer.refusal(reason, ManagementAnswer.sentence(reason), requestID: requestID)
    }

    /// Returns a refusal as `{statusCode, error, message, errorCode}`.
    ///
    /// - Parameter message: A text that may quote the operator's input, never a secret.
    static func refusal(_ reason: Reason, _ message: String, requestID: String) -> EndpointResponse {
        var response = EndpointResponse.problem(reason, requestID: requestID)
        response.fields = response.fields.map {
            $0.name == "content-type" ? ($0.name, "application/json; charset=utf-8") : $0
        }
        response.body = JSONText.encode([
            "statusCode": .integer(Int64(response.status)), "error": .string(StatusText.phrase(response.status)),
            "message": .string(message), "errorCode": .string(self.code(reason)),
        ])
        return response
    }

    private static func code(_ reason: Reason) -> String {
        switch reason {
        case .operatorUnknown: "invalid_token"
        case .operatorScope: "insufficient_scope"
        case .clientUnknown: "inexistent_client"
        case .clientExists: "client_conflict"
        case .clientInvalid: "invalid_body"
        case .requestParameters: "invalid_query_string"
        default: reason.rawValue
        }
    }

    private static func sentence(_ reason: Reason) -> String {
        switch reason {
        case .operatorUnknown: "Invalid token"
        case .operatorScope:
            "Insufficient scope: a token of admin.tokens_file needs read to see clients, and clients to change them"
        case .clientUnknown: "The client does not exist"
        case .clientExists: "A client with this client_id exists already"
        case .storeUnavailable: "The store cannot be reached; nothing was changed as far as is known"
        default: StatusText.phrase(reason.refusal?.status ?? 500)
        }
    }
}
