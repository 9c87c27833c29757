import Cryptography
package import NIOCore
package import Sessions
package import Vocabulary

/// The index of sessions by their subject, by an email address, or by their start (`RedisStore+Log.swift`). A session
/// is added to its lists after it was written, and no sign-in waits for this. If it fails, the session is missing from
/// a list.
///
/// A line of a list is `<expiry in ms> <sealed key of the session in base64url>`. A script adds each line, so that
/// simultaneous sign-ins are all listed.
extension RedisStore {
    package func sessions(of subject: String, on loop: any EventLoop) -> EventLoopFuture<[RecordKey]> {
        // One command per name, because names have different slots.
        let lists = self.names(of: subject).map { self.list(Keyspace.sessions($0), on: loop) }
        let former = self.formerLists?.formerSessionLists(of: subject) ?? []
        let records = former.map { key in
            self.replaceable(key, as: FormerSessionList.self, on: loop).map { stored in
                let now = self.clock.now()
                return (stored?.record.sessions ?? []).filter { $0.expiresAt > now }.map(\.key)
            }
        }
        return EventLoopFuture.whenAllSucceed(lists + records, on: loop).map { Array(Set($0.joined())) }
    }

    package func sessions(with address: EmailAddress, on loop: any EventLoop) -> EventLoopFuture<[RecordKey]> {
        let lists = self.names(of: address).map { self.list(Keyspace.sessions($0), on: loop) }
        return EventLoopFuture.whenAllSucceed(lists, on: loop).map { Array(Set($0.joined())) }
    }

    /// Returns the names of an address's lists. Subjects never begin with NUL, so these names are not those of a
    /// subject.
    private func names(of address: EmailAddress) -> [String] {
        self.seals.ring.names(of: "\u{0}address \(address.text)")
    }

    private func list(_ place: [UInt8], on loop: any EventLoop) -> EventLoopFuture<[RecordKey]> {
        // `MGET` cannot distinguish a missing key from one of another type.
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
        self.note(new, in: Keyspace.sessions(name), on: loop)
        self.noteAddress(of: new, on: loop)
        self.log(new, on: loop)
    }

    /// Adds the session only to the list of its user's email address, when the address is new or has changed.
    func noteAddress(of new: NewSession, on loop: any EventLoop) {
        guard new.session.isListed, let name = new.session.address.flatMap({ self.names(of: $0).first }) else { return }
        self.note(new, in: Keyspace.sessions(name), on: loop)
    }

    private func note(_ new: NewSession, in place: [UInt8], on loop: any EventLoop) {
        let call = ScriptCall(
            Scripts.noteSession,
            keys: [place],
            arguments: [
                Self.digits(of: self.clock.now()), Self.digits(of: new.session.expiresAt), self.line(new, in: place),
                Array("\(Self.listCapacity)".utf8), Self.digits(Self.margin),
            ]
        )
        self.client.evaluate(call, on: loop) { _ in }
    }

    /// Returns the line of a session in the list at `place`.
    func line(_ new: NewSession, in place: [UInt8]) -> [UInt8] {
        var line = Self.digits(of: new.session.expiresAt) + [UInt8(ascii: " ")]
        line += Base64URL.encoded(self.seals.seal(sessionKey: new.key, at: place))
        line.append(UInt8(ascii: "\n"))
        return line
    }

    /// Returns the latest sessions in a list that have not expired. If a line cannot be read, the whole list is
    /// *unavailable*, because the line may belong to a live session.
    func sessions(in list: some Collection<UInt8>, at place: [UInt8]) throws(StoreError) -> [RecordKey] {
        let now = self.clock.now().milliseconds
        var live: [ArraySlice<UInt8>] = []
        for line in Array(list).split(separator: UInt8(ascii: "\n")) {
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
