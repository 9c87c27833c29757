package import NIOCore
package import Sessions
import Vocabulary

extension RedisStore {
    /// Replaces a session. The version `judged` is only a hash of the session's bytes, so the bytes are read first, and
    /// the script replaces the session only if it still has these bytes.
    package func replace(
        _ key: RecordKey,
        judged: RecordVersion,
        with session: Session,
        on loop: any EventLoop
    ) -> EventLoopFuture<Replacement> {
        let keys = Keyspace.all(of: key)
        let answer = self.client.ask(RedisCommand("MGET", keys), on: loop) { reply in
            let values = try Values(reply, count: keys.count)
            guard let standing = try self.liveSession(values, key, at: keys[0], isEnding: false), let bytes = values[0]
            else { return .later(self.verify(absent: values.doubtful(keys), on: loop).map { Replacement.absent }) }
            guard standing.version == judged else { return .success(.changed) }
            return .later(self.replace(standing.record, key, bytes, with: session, on: loop))
        }
        return self.telling(.sessionRecord(key), after: answer, on: loop)
    }

    private func replace(
        _ standing: Session,
        _ key: RecordKey,
        _ bytes: [UInt8],
        with session: Session,
        on loop: any EventLoop
    ) -> EventLoopFuture<Replacement> {
        let keys = Keyspace.all(of: key)
        var written = session
        written.epoch = standing.epoch
        let call = ScriptCall(
            Scripts.replaceSession,
            keys: keys,
            arguments: [bytes, self.seals.seal(written.encoded, at: keys[0])]
        )
        return self.epoch(of: standing.subject, on: loop).flatMap { epoch in
            guard standing.epoch >= epoch else { return loop.makeSucceededFuture(.absent) }
            return self.client.run(call, on: loop).flatMapThrowing { reply -> Replacement in
                switch reply {
                case .integer(1):
                    if session.address != standing.address {
                        self.noteAddress(of: NewSession(key: key, session: session), on: loop)
                    }
                    return .done
                case .integer(0): return .absent
                case .integer(-1): return .changed
                default: throw StoreError.unavailable
                }
            }
        }
    }
}
