internal import Cryptography
package import NIOCore
package import Sessions
internal import Vocabulary

/// The sessions of each subject. They are noted once a session is written. No sign-in waits for Redis's answer, and a note
/// that fails only leaves a session out of a list.
///
/// A list is lines of `<end in ms> <sealed key of the session in base64url>`. One script adds a line, so that sign-ins at
/// once are all noted, and no list is sent to a gateway for it.
extension RedisStore {
    package func sessions(of subject: String, on loop: any EventLoop) -> EventLoopFuture<[RecordKey]> {
        // One command for each name, because names have different slots.
        let lists = self.names(of: subject).map { self.list($0, on: loop) }
        let former = self.formerLists?.formerSessionLists(of: subject) ?? []
        let records = former.map { key in
            self.replaceable(key, as: FormerSessionList.self, on: loop).map { stored in
                let now = self.clock.now()
                return (stored?.record.sessions ?? []).filter { $0.expiresAt > now }.map(\.key)
            }
        }
        return EventLoopFuture.whenAllSucceed(lists + records, on: loop).map { Array(Set($0.joined())) }
    }

    private func list(_ name: String, on loop: any EventLoop) -> EventLoopFuture<[RecordKey]> {
        let place = Keyspace.sessions(name)
        // Not with `MGET`, which cannot tell a missing key from one of another type.
        return self.client.ask(RedisCommand("GET", [place]), on: loop) { reply in
            switch reply {
            case .null: .success([])
            case .bulk(let list): .success(try self.sessions(in: list, at: place))
            default: throw StoreError.unavailable
            }
        }
    }

    package func note(_ new: NewSession, on loop: any EventLoop) {
        guard loop.inEventLoop else { return loop.execute { self.note(new, on: loop) } }
        guard new.session.isListed, let name = self.names(of: new.session.subject).first else { return }
        let place = Keyspace.sessions(name)
        let end = Self.digits(of: new.session.expiresAt)
        var line = end + [UInt8(ascii: " ")]
        line += Base64URL.encoded(self.seals.seal(sessionKey: new.key, at: place))
        line.append(UInt8(ascii: "\n"))
        let call = ScriptCall(
            Scripts.noteSession,
            keys: [place],
            arguments: [
                Self.digits(of: self.clock.now()), end, line, Array("\(Self.listCapacity)".utf8),
                Self.digits(Self.margin),
            ]
        )
        self.client.evaluate(call, on: loop) { _ in }
    }

    /// The latest sessions in a list that have not expired. If a line cannot be read, there is still a session: the list is
    /// *unavailable*.
    private func sessions(in list: [UInt8], at place: [UInt8]) throws(StoreError) -> [RecordKey] {
        let now = self.clock.now().milliseconds
        var live: [ArraySlice<UInt8>] = []
        for line in list.split(separator: UInt8(ascii: "\n")) {
            guard let blank = line.firstIndex(of: UInt8(ascii: " ")),
                let end = Int64(String(decoding: line[..<blank], as: UTF8.self))
            else { throw .unavailable }
            if end > now { live.append(line[(blank + 1)...]) }
        }
        var sealed: [[UInt8]] = []
        for text in live.suffix(Self.listCapacity) {
            guard let bytes = Base64URL.decoded(text) else { throw .unavailable }
            sealed.append(bytes)
        }
        return try self.seals.sessionKeys(sealed, at: place)
    }
}
