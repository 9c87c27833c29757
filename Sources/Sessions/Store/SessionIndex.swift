package import NIOCore
package import Vocabulary

/// Finds sessions by something else than their keys. What is found by is written after the fact: a session may be missing
/// for a moment, and one that has ended, or has never begun, may be named. Whether a session lives, only its record says.
package protocol SessionIndex: Sendable {
    /// The keys of the subject's sessions, in any order: of those noted under one secret the latest, if there are more than
    /// `listCapacity`.
    func sessions(of subject: String, on loop: any EventLoop) -> EventLoopFuture<[RecordKey]>

    /// The keys of the sessions whose users had this email address when they began; otherwise as above.
    func sessions(with address: EmailAddress, on loop: any EventLoop) -> EventLoopFuture<[RecordKey]>

    /// Some of all sessions, in an order of the store's own.
    ///
    /// - Parameter place: Where the page before ended (`SessionPage.next`); nil: the first page. A place that no page
    ///   named finds some sessions or none.
    func sessions(from place: IndexPlace?, on loop: any EventLoop) -> EventLoopFuture<SessionPage>

    /// Some of all sessions, chosen by chance: all of them, unless there are more than `sampleSize`.
    func sample(on loop: any EventLoop) -> EventLoopFuture<SessionSample>
}

extension SessionIndex {
    /// How many sessions of a subject, or with an address, are remembered.
    package static var listCapacity: Int { 256 }
    /// How many sessions a page has at most.
    package static var pageSize: Int { 100 }
    /// How many sessions a sample has at most.
    package static var sampleSize: Int { 256 }
}

/// Where a page of sessions ended. Only the store that made it can interpret it.
package struct IndexPlace: Sendable, Hashable {
    package let numbers: [Int64]

    /// The most numbers, which is enough for every store.
    private static let most = 4

    package init(_ numbers: [Int64]) {
        self.numbers = numbers
    }

    /// Reads `text`; nil if it is none.
    package init?(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let numbers = parts.compactMap { part in
            part.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
                ? Int64(String(decoding: part, as: UTF8.self)) : nil
        }
        guard numbers.count == parts.count, numbers.count <= Self.most else { return nil }
        self.numbers = numbers
    }

    /// The place as it is told to clients.
    package var text: String { self.numbers.map { "\($0)" }.joined(separator: ".") }
}

/// Some of all sessions.
package struct SessionPage: Sendable {
    package var keys: [RecordKey]
    /// Where the next page begins; nil: this was the last one. A page may be empty and yet not the last.
    package var next: IndexPlace?

    package init(keys: [RecordKey] = [], next: IndexPlace? = nil) {
        self.keys = keys
        self.next = next
    }
}

/// Some of all sessions, chosen by chance.
package struct SessionSample: Sendable {
    /// How many sessions are noted in all, also those that have ended.
    package var noted: Int
    /// How many of them were drawn, some maybe twice; as many as are noted, if all were.
    package var drawn: Int
    /// The keys of those that were drawn, but for some that have certainly ended.
    package var keys: [RecordKey]

    package init(noted: Int, drawn: Int, keys: [RecordKey]) {
        self.noted = noted
        self.drawn = drawn
        self.keys = keys
    }
}

extension Session {
    /// Whether users find it among their sessions: an access token is a part of the session from which it comes.
    package var isListed: Bool { self.access == nil }

    /// The user's email address, vouched for or not; nil if the provider names none.
    package var address: EmailAddress? { self.identity.traitsDocument["email"]?.string.flatMap(EmailAddress.init) }
}
