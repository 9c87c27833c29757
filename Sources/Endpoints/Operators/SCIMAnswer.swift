import SignOn
import Vocabulary

/// Answers of the SCIM endpoints (RFC 7644). Their clients do not parse problem documents.
enum SCIMAnswer {
    private static let messages = "urn:ietf:params:scim:api:messages:2.0:"

    /// Makes refusals outside the handlers, e.g. for a wrong method or an invalid token.
    static let envelope: RefusalEnvelope = { SCIMAnswer.refusal(NotDone($0), requestID: $1) }

    /// Returns a refusal as an error message (RFC 7644 3.12).
    static func refusal(_ error: NotDone, requestID: String) -> EndpointResponse {
        var response = self.typed(.problem(error.reason, requestID: requestID))
        var members: [String: JSONValue] = [
            "schemas": [.string(self.messages + "Error")], "status": .string(String(response.status)),
            "detail": .string("\(error.text ?? self.sentence(error.reason)) (\(error.reason.rawValue), \(requestID))"),
        ]
        if error.reason == .scimExists { members["scimType"] = "uniqueness" }
        if error.reason == .scimInvalid, let type = error.detail { members["scimType"] = .string(type) }
        response.body = JSONText.encode(.object(members))
        return response
    }

    /// Returns a JSON response with the content type of SCIM.
    static func typed(_ response: EndpointResponse) -> EndpointResponse {
        var response = response
        response.fields = response.fields.map { $0.name == "content-type" ? ($0.name, "application/scim+json") : $0 }
        return response
    }

    /// Returns a user, with its URL.
    static func user(_ user: ProvisionedUser, _ location: String) -> JSONValue {
        [
            "schemas": [.string(SCIMBody.userSchema)], "id": .string(user.id), "externalId": .string(user.externalID),
            "userName": .string(user.userName), "active": .bool(user.isActive),
            "meta": ["resourceType": "User", "location": .string(location)],
        ]
    }

    /// Returns resources as a list (RFC 7644 3.4.2).
    ///
    /// - Parameters:
    ///   - total: The number of all resources that match.
    ///   - start: The number of the first resource in the list, from 1.
    static func list(_ resources: [JSONValue], of total: Int, from start: Int = 1) -> JSONValue {
        [
            "schemas": [.string(self.messages + "ListResponse")], "totalResults": .integer(Int64(total)),
            "startIndex": .integer(Int64(start)), "itemsPerPage": .integer(Int64(resources.count)),
            "Resources": .array(resources),
        ]
    }

    private static func sentence(_ reason: Reason) -> String {
        switch reason {
        case .operatorUnknown: "Invalid token: its SHA-256 is not in admin.tokens_file"
        case .operatorScope: "Insufficient scope: the token needs scim in admin.tokens_file"
        case .scimExists: "Another user has this userName or externalId"
        case .scimUnknown: "No user has this id"
        case .scimUnsupported: "Only users are supported"
        case .storeFull: "The store has no room for another user, or for another block"
        default: StatusText.phrase(reason.refusal?.status ?? 500)
        }
    }
}
