import Cryptography
import Sessions
package import Vocabulary

/// A user that a provider has created by SCIM. Only these values of a user are kept.
package struct ProvisionedUser: Sendable, Hashable {
    /// A random text, the user's id in SCIM.
    package var id: String
    package var externalID: String
    package var userName: String
    package var isActive: Bool
    /// The number of changes, so that a change that overtakes another one is noticed.
    var revision: UInt32

    package init(id: String, externalID: String, userName: String, isActive: Bool, revision: UInt32 = 0) {
        self.id = id
        self.externalID = externalID
        self.userName = userName
        self.isActive = isActive
        self.revision = revision
    }

    /// The names under which the user is found.
    var names: [String] {
        [ProvisionedAttribute.userName.name(self.userName), ProvisionedAttribute.externalID.name(self.externalID)]
    }
}

/// An attribute whose value identifies one user.
package enum ProvisionedAttribute: String, Sendable, CaseIterable {
    case externalID = "externalId"
    case userName

    /// Returns the name of the user with this value. Letter case matters only in `externalId` (RFC 7643 3.1, 4.1.1).
    func name(_ value: String) -> String {
        let value = self == .userName ? value.lowercased() : value
        return SHA256.digest(Array("\(self.rawValue)\u{0}\(value)".utf8)).base64URL
    }
}

/// A stored document with the users whose ids are hashed to one page, and the names that are hashed to it. One document
/// per user would make each write slower, because a store lists the documents of a collection by their names.
package struct ProvisioningPage: Document, Hashable {
    private static let version: UInt8 = 1
    package static var collection: String { "scim-users" }
    package static var sizeLimit: Int { 131_072 }

    package var users: [ProvisionedUser] = []
    /// The ids of users by their names. They are only hints: `ProvisionedUser.names` decides whether a name is the
    /// user's.
    package var ids: [String: String] = [:]

    package init() {}

    package func write(to writer: inout CompactWriter) {
        writer.write(byte: Self.version)
        writer.write(list: self.users) { writer, user in
            writer.write(user.id)
            writer.write(user.externalID)
            writer.write(user.userName)
            writer.write(byte: user.isActive ? 1 : 0)
            writer.write(UInt64(user.revision))
        }
        writer.write(list: self.ids.sorted { $0.key < $1.key }) { writer, entry in
            writer.write(entry.key)
            writer.write(entry.value)
        }
    }

    package static func read(from reader: inout CompactReader) throws(CompactFormatError) -> ProvisioningPage {
        guard try reader.byte() == Self.version else { throw CompactFormatError() }
        var page = ProvisioningPage()
        page.users = try reader.list { (reader) throws(CompactFormatError) in
            ProvisionedUser(
                id: try reader.text(),
                externalID: try reader.text(),
                userName: try reader.text(),
                isActive: try reader.byte() == 1,
                revision: try reader.number()
            )
        }
        let ids = try reader.list { (reader) throws(CompactFormatError) in (try reader.text(), try reader.text()) }
        page.ids = Dictionary(ids) { $1 }
        return page
    }
}
