import Vocabulary

/// What the SCIM endpoints tell clients about themselves (RFC 7644 4, RFC 7643 5 to 7).
enum SCIMDiscovery {
    private static let core = "urn:ietf:params:scim:schemas:core:2.0:"

    /// The documents by their paths.
    static let documents: [(path: String, document: JSONValue)] = [
        ("/ServiceProviderConfig", Self.configuration),
        ("/ResourceTypes", SCIMAnswer.list([Self.resourceType], of: 1)), ("/ResourceTypes/User", Self.resourceType),
        ("/Schemas", SCIMAnswer.list([Self.schema], of: 1)), ("/Schemas/\(SCIMBody.userSchema)", Self.schema),
    ]

    private static let configuration: JSONValue = [
        "schemas": [.string(Self.core + "ServiceProviderConfig")],
        "patch": ["supported": true], "bulk": ["supported": false, "maxOperations": 0, "maxPayloadSize": 0],
        "filter": ["supported": true, "maxResults": .integer(Int64(SCIMUsers.largestPage))],
        "changePassword": ["supported": false], "sort": ["supported": false], "etag": ["supported": false],
        "authenticationSchemes": [
            ["type": "oauthbearertoken", "name": "Bearer", "description": "An operator's token with the scope scim"]
        ],
    ]

    private static let resourceType: JSONValue = [
        "schemas": [.string(Self.core + "ResourceType")], "id": "User", "name": "User", "endpoint": "/Users",
        "schema": .string(SCIMBody.userSchema),
    ]

    /// The schema of users. Every resource has `id` and `externalId`, so no schema lists them (RFC 7643 3.1). Other
    /// members have the defaults of RFC 7643 2.2.
    private static let schema: JSONValue = [
        "schemas": [.string(Self.core + "Schema")], "id": .string(SCIMBody.userSchema), "name": "User",
        "attributes": [
            ["name": "userName", "type": "string", "multiValued": false, "required": true, "uniqueness": "server"],
            ["name": "active", "type": "boolean", "multiValued": false, "required": false],
        ],
    ]
}
