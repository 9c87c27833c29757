package import NIOCore
package import Vocabulary

/// Finds sessions without their keys. The index is updated after the records: a new session may be missing, and an
/// ended one may be listed. Only a session's record says whether it is live.
package protocol SessionIndex: Sendable {
    /// Returns the keys of the subject's sessions, in any order. The index lists only the latest `listCapacity`
    /// sessions under each secret.
    func sessions(of subject: String, on loop: any EventLoop) -> EventLoopFuture<[RecordKey]>

    /// Returns the keys of the sessions whose user had this email address at sign-in, in any order. The index lists
    /// only the latest `listCapacity` sessions under each secret.
    func sessions(with address: EmailAddress, on loop: any EventLoop) -> EventLoopFuture<[RecordKey]>

    /// Returns a page of all sessions, in an order that the store chooses.
    ///
    /// - Parameter place: The end of the previous page (`SessionPage.next`); `nil` for the first page. Any other place
    ///   returns arbitrary sessions.
    func sessions(from place: IndexPlace?, on loop: any EventLoop) -> EventLoopFuture<SessionPage>

    /// Returns all sessions if there are at most `sampleSize`, otherwise a random sample.
    func sample(on loop: any EventLoop) -> EventLoopFuture<SessionSample>
}

extension SessionIndex {
    /// The maximum number of sessions that are listed for one subject or address, under each secret.
    package static var listCapacity: Int { 256 }
    /// The maximum number of sessions on a page.
    package static var pageSize: Int { 100 }
    /// The maximum number of sessions in a sample.
    package static var sampleSize: Int { 256 }
}

/// The position in the index at which a page ended. Only the store that made it can interpret it.
package struct IndexPlace: Sendable, Hashable {
    package let numbers: [Int64]

    /// The maximum number of numbers in a position.
    private static let most = 4

    package init(_ numbers: [Int64]) {
        self.numbers = numbers
    }

    /// Reads `text`; `nil` if it is not a position.
    package init?(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let numbers = parts.compactMap { part in
            part.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
                ? Int64(String(decoding: part, as: UTF8.self)) : nil
        }
        guard numbers.count == parts.count, numbers.count <= Self.most else { return nil }
        self.numbers = numbers
    }

    /// The position as clients send it: the numbers, separated by dots.
    package var text: String { self.numbers.map { "\($0)" }.joined(separator: ".") }
}

/// A page of all sessions.
package struct SessionPage: Sendable {
    package var keys: [RecordKey]
    /// The position of the next page; `nil` on the last page. A page before the last may be empty.
    package var next: IndexPlace?

    package init(keys: [RecordKey] = [], next: IndexPlace? = nil) {
        self.keys = keys
        self.next = next
    }
}

/// A random sample of all sessions.
package struct SessionSample: Sendable {
    /// The number of entries in the index, with or without a live session.
    package var noted: Int
    /// The number of drawn entries, some possibly drawn twice. Equal to `noted` if the sample is complete.
    package var drawn: Int
    /// The keys of the drawn sessions. Sessions that have certainly ended may be left out.
    package var keys: [RecordKey]

    package init(noted: Int, drawn: Int, keys: [RecordKey]) {
        self.noted = noted
        self.drawn = drawn
        self.keys = keys
    }
}

extension Session {
    /// True if the session is listed under its user. Access tokens are not listed.
    package var isListed: Bool { self.access == nil }

    /// The user's email address, verified or not; `nil` if there is none.
    package var address: EmailAddress? { self.identity.traitsDocument["email"]?.string.flatMap(EmailAddress.init) }
}
