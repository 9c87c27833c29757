package import NIOCore

/// Finds the sessions of a subject.
package protocol SessionIndex: Sendable {
    /// The keys of the subject's sessions, in any order: of those noted under one secret the latest, if there are more than
    /// `listCapacity`. They are written after the fact: a session may be missing for a moment, and one that has ended, or
    /// has never begun, may be named. Whether a session lives, only its record says.
    func sessions(of subject: String, on loop: any EventLoop) -> EventLoopFuture<[RecordKey]>
}

extension SessionIndex {
    /// How many sessions of a subject are remembered.
    package static var listCapacity: Int { 256 }
}

extension Session {
    /// Whether users find it among their sessions: an access token is a part of the session from which it comes.
    package var isListed: Bool { self.access == nil }
}
