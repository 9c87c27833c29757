/// The provider that creates, deactivates and deletes its users by SCIM (`admin.scim`).
package struct SCIMSettings: Sendable, Equatable {
    /// The name of the provider.
    package var provider: String
    /// The trait that equals `externalId`; `nil` if `externalId` is the provider's own id of the user.
    package var trait: String?
}
