import Cryptography
package import Sessions
package import Vocabulary

/// A user that a provider has created by SCIM. Only these values of a user are kept.
package struct ProvisionedUser: ProvisioningEntry, Hashable {
    /// A random text, the user's id in SCIM.
    package var id: String
    package var externalID: String
    package var userName: String
    package var isActive: Bool
    /// The number of changes, so that a change that overtakes another one is noticed.
    var revision: UInt32 = 0

    package init(id: String, externalID: String, userName: String, isActive: Bool) {
        self.id = id
        self.externalID = externalID
        self.userName = userName
        self.isActive = isActive
    }

    package static var collection: String { "scim-users" }
    package var key: String { self.id }

    /// The names under which the user is found.
    var names: [String] {
        [ProvisionedAttribute.userName.key(self.userName), ProvisionedAttribute.externalID.key(self.externalID)]
    }

    package func write(to writer: inout CompactWriter) {
        writer.write(self.id)
        writer.write(self.externalID)
        writer.write(self.userName)
        writer.write(byte: self.isActive ? 1 : 0)
        writer.write(UInt64(self.revision))
    }

    package static func read(from reader: inout CompactReader) throws(CompactFormatError) -> ProvisionedUser {
        var user = ProvisionedUser(
            id: try reader.text(),
            externalID: try reader.text(),
            userName: try reader.text(),
            isActive: try reader.byte() == 1
        )
        user.revision = try reader.number()
        return user
    }
}

/// An attribute whose value names one user.
package enum ProvisionedAttribute: String, Sendable, CaseIterable {
    case externalID = "externalId"
    case userName

    /// Returns the name of the user with this value. Letter case matters only in `externalId` (RFC 7643 3.1, 4.1.1).
    func key(_ value: String) -> String {
        let value = self == .userName ? value.lowercased() : value
        return SHA256.digest(Array("\(self.rawValue)\u{0}\(value)".utf8)).base64URL
    }
}

/// A name of a provisioned user, with the user's id. It is only a hint: the user's entry says whether the name is the
/// user's.
package struct ProvisionedName: ProvisioningEntry, Hashable {
    /// A hash of the attribute and its value (`ProvisionedAttribute.key`).
    package var key: String
    /// The id of the user.
    package var id: String

    package init(key: String, id: String) {
        self.key = key
        self.id = id
    }

    package static var collection: String { "scim-names" }

    package func write(to writer: inout CompactWriter) {
        writer.write(self.key)
        writer.write(self.id)
    }

    package static func read(from reader: inout CompactReader) throws(CompactFormatError) -> ProvisionedName {
        ProvisionedName(key: try reader.text(), id: try reader.text())
    }
}

/// An entry of a page.
package protocol ProvisioningEntry: RecordCodable, Equatable {
    /// The collection of the pages.
    static var collection: String { get }
    /// The unique key of the entry, which selects its page.
    var key: String { get }
}

/// A stored document with the entries whose keys have one hash. One document per user would make each write slower: a
/// store lists the documents of a collection by their names. No gateway follows these documents.
package struct ProvisioningPage<Entry: ProvisioningEntry>: Document {
    private static var version: UInt8 { 1 }
    package static var collection: String { Entry.collection }
    package static var sizeLimit: Int { 131_072 }

    package var entries: [Entry]

    package init(entries: [Entry]) {
        self.entries = entries
    }

    package func write(to writer: inout CompactWriter) {
        writer.write(byte: Self.version)
        writer.write(list: self.entries) { $1.write(to: &$0) }
    }

    package static func read(from reader: inout CompactReader) throws(CompactFormatError) -> ProvisioningPage {
        guard try reader.byte() == Self.version else { throw CompactFormatError() }
        return ProvisioningPage(
            entries: try reader.list { (reader) throws(CompactFormatError) in try Entry.read(from: &reader) }
        )
    }
}
