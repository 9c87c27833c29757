import Sessions
package import Vocabulary

/// A stored document that blocks a user from signing in. Each of the user's names has its own document.
///
/// A lifted block stays in the store for an hour, with its end in the past. If a block is missing earlier, the store
/// has lost it.
package struct UserBlock: Document, Hashable {
    package static var collection: String { "blocks" }
    package static var sizeLimit: Int { 16_384 }
    package static var countLimit: Int { 32_768 }

    /// The user's id as the operator wrote it, or SCIM's `externalId`.
    package var subject: String
    /// The name of the user's provider. `nil` if the only provider has no name, or if `subject` is a linked account.
    package var provider: String?
    /// All names under which the user is blocked. Lists of blocks contain only the document of the first name.
    package var names: [String]
    /// The time at which an operator's block ends. `nil` if an operator has to lift it. A time that has passed means
    /// that no operator blocks the user.
    package var until: UnixTime?
    /// The operator's note. `nil` if none exists.
    package var note: String?
    /// The time of the last change. A later change of the document always has a later time.
    package var changedAt: UnixTime
    /// The name of the operator who made the last change.
    package var changedBy: String
    /// True if the provider has deactivated the user by SCIM. This block is independent of an operator's block: the
    /// user may sign in when neither is in force.
    package var isDeprovisioned: Bool

    private static let version: UInt8 = 1

    package init(
        subject: String,
        provider: String?,
        names: [String],
        until: UnixTime?,
        note: String?,
        changedAt: UnixTime,
        changedBy: String,
        isDeprovisioned: Bool = false
    ) {
        self.subject = subject
        self.provider = provider
        self.names = names
        self.until = until
        self.note = note
        self.changedAt = changedAt
        self.changedBy = changedBy
        self.isDeprovisioned = isDeprovisioned
    }

    /// Returns whether the user may not sign in at this time.
    func isInForce(at now: UnixTime) -> Bool { self.isDeprovisioned || self.isOfOperator(at: now) }

    /// Returns whether an operator's block is in force at this time.
    package func isOfOperator(at now: UnixTime) -> Bool { self.until.map { now < $0 } ?? true }

    /// Returns this block as it is written over the present block. An operator's block keeps the provider's block, and
    /// the provider's block keeps an operator's block.
    func added(to present: UserBlock?, at now: UnixTime) -> UserBlock {
        guard var present else { return self }
        if self.isDeprovisioned, present.isOfOperator(at: now) {
            present.isDeprovisioned = true
            return present
        }
        var block = self
        block.isDeprovisioned = self.isDeprovisioned || present.isDeprovisioned
        return block
    }

    package func write(to writer: inout CompactWriter) {
        writer.write(byte: Self.version)
        writer.write(self.subject)
        writer.write(optional: self.provider) { $0.write($1) }
        writer.write(list: self.names) { $0.write($1) }
        writer.write(optional: self.until) { $0.write($1) }
        writer.write(optional: self.note) { $0.write($1) }
        writer.write(self.changedAt)
        writer.write(self.changedBy)
        writer.write(byte: self.isDeprovisioned ? 1 : 0)
    }

    package static func read(from reader: inout CompactReader) throws(CompactFormatError) -> UserBlock {
        guard try reader.byte() == Self.version else { throw CompactFormatError() }
        return UserBlock(
            subject: try reader.text(),
            provider: try reader.optionalText(),
            names: try reader.texts(),
            until: try reader.optionalTime(),
            note: try reader.optionalText(),
            changedAt: try reader.time(),
            changedBy: try reader.text(),
            // Earlier versions wrote no byte here.
            isDeprovisioned: reader.isAtEnd ? false : try reader.byte() == 1
        )
    }
}
