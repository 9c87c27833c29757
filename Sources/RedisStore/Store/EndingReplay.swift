import NIOCore
import Sessions
import Vocabulary

/// Repeats ends at a primary that is new or was restarted, and so may have lost them (`EndingMemory`).
///
/// A promoted replica lacks the writes that only another replica confirmed. A restarted server lacks what it had not
/// written to disk. Without the replay, other gateways might accept the ended records again. Each end is read first,
/// because the new primary knows most ends.
final class EndingReplay: Sendable {
    private struct State {
        var topology: Topology?
        /// The last reign of each primary.
        var reigns: [RedisEndpoint: String] = [:]
        /// The reign of each primary for which the ends have been, or are being, repeated.
        var begun: [RedisEndpoint: String] = [:]
        var isShutDown = false
    }

    /// The number of ends that are checked with one command.
    private static let stride = 256
    /// The pause before a retry. It doubles with each further failure, up to `longestPause`, because a primary without
    /// its replicas may refuse writes for hours.
    private static let pause = TimeAmount.milliseconds(100)
    private static let longestPause = TimeAmount.milliseconds(1600)
    /// The pause before a second replay, because another loop may still have ended a session at the former primary.
    private static let aftermath = TimeAmount.seconds(2)

    private let client: RedisClient
    private let memory: EndingMemory
    private let loop: any EventLoop
    private let state: NIOLoopBoundBox<State>

    init(client: RedisClient, memory: EndingMemory) {
        self.client = client
        self.memory = memory
        self.loop = client.firstLoop
        self.state = NIOLoopBoundBox.makeBoxSendingValue(State(), eventLoop: self.loop)
    }

    /// Begins to follow the client's primaries. Must be called once, before the client starts.
    func start() {
        self.client.follow(
            RedisClient.Follower(
                topology: { [weak self] topology in
                    self?.onLoop { replay in
                        replay.state.value.topology = topology
                        replay.judge()
                    }
                },
                reign: { [weak self] endpoint, reign in
                    self?.onLoop { replay in
                        replay.state.value.reigns[endpoint] = reign
                        replay.judge()
                    }
                }
            )
        )
    }

    func shutDown() {
        self.onLoop { $0.state.value.isShutDown = true }
    }

    // MARK: Steps, on the loop

    private func onLoop(_ step: @escaping @Sendable (EndingReplay) -> Void) {
        self.loop.execute { step(self) }
    }

    /// Begins a replay at each primary with a new reign and known slots.
    private func judge() {
        for shard in self.state.value.topology?.shards ?? [] where !shard.slots.isEmpty {
            guard let reign = self.state.value.reigns[shard.endpoint],
                self.state.value.begun.updateValue(reign, forKey: shard.endpoint) != reign
            else { continue }
            self.go(through: Reign(shard: shard, name: reign), isLast: false)
        }
    }

    private struct Reign {
        let shard: Topology.Shard
        let name: String
        var endpoint: RedisEndpoint { self.shard.endpoint }
    }

    private func isOver(_ reign: Reign) -> Bool {
        self.state.value.isShutDown || self.state.value.reigns[reign.endpoint] != reign.name
    }

    private func go(through reign: Reign, isLast: Bool) {
        guard !self.isOver(reign) else { return }
        var endings = self.memory.beginReign()
        if self.client.isCluster {
            endings.removeAll { ending in
                let slot = UInt16(clamping: HashSlot.of(ending.place[...]))
                return !reign.shard.slots.contains { $0.contains(slot) }
            }
        }
        self.go(on: endings[...], reign, isLast: isLast, restored: 0, pause: Self.pause)
    }

    private func go(
        on endings: ArraySlice<EndingMemory.Ending>,
        _ reign: Reign,
        isLast: Bool,
        restored: Int,
        pause: TimeAmount
    ) {
        guard !endings.isEmpty else {
            if restored > 0 { self.client.notify(.endsRestored(reign.endpoint, count: restored)) }
            if !isLast { self.loop.scheduleTask(in: Self.aftermath) { self.go(through: reign, isLast: true) } }
            return
        }
        guard !self.isOver(reign) else { return }
        let next = Array(endings.prefix(Self.stride))
        self.restore(next).assumeIsolated().whenComplete { result in
            switch result {
            case .success(let count):
                let (rest, restored) = (endings.dropFirst(next.count), restored + count)
                self.go(on: rest, reign, isLast: isLast, restored: restored, pause: Self.pause)
            case .failure:
                let longer = min(pause * 2, Self.longestPause)
                self.loop.scheduleTask(in: pause) {
                    self.go(on: endings, reign, isLast: isLast, restored: restored, pause: longer)
                }
            }
        }
    }

    /// Repeats the ends that the primary does not know, and returns their number.
    private func restore(_ endings: [EndingMemory.Ending]) -> EventLoopFuture<Int> {
        self.values(of: endings).flatMap { values in
            let alive = zip(endings, values).filter { !$0.isKnown(by: $1) }.map(\.0)
            let ended = alive.map { ending in
                self.client.run(ending.call, on: self.loop) { reply in
                    // The end has taken effect at this primary. If this primary is replaced too, the end is repeated
                    // again.
                    if case .failure(.unreplicated) = reply { return .success(()) }
                    _ = try RedisStore.reply(reply)
                    return .success(())
                }
            }
            return EventLoopFuture.andAllSucceed(ended, on: self.loop).map { alive.count }
        }
    }

    /// Returns, for each end, the value at the key that shows whether the end took effect.
    private func values(of endings: [EndingMemory.Ending]) -> EventLoopFuture<[[UInt8]?]> {
        let places = endings.map(\.place)
        // In a cluster, the keys may be on several nodes, so each key gets a separate command.
        let commands = self.client.isCluster ? places.map { [$0] } : [places]
        let asked = commands.map { keys in
            self.client.ask(RedisCommand("MGET", keys), on: self.loop).flatMapThrowing { reply in
                let values = try RedisStore.Values(reply, count: keys.count)
                return keys.indices.map { values[$0] }
            }
        }
        return EventLoopFuture.whenAllSucceed(asked, on: self.loop).map { $0.flatMap(\.self) }
    }
}

extension EndingMemory.Ending {
    /// The key that shows by its value whether the end took effect.
    fileprivate var place: [UInt8] {
        switch self {
        case .session(let key): Keyspace.idle(key)
        case .record(let key): Keyspace.record(key)
        case .lineage(let lineage): Keyspace.lineage(lineage)
        case .subject(let name, _): Keyspace.epoch(name)
        }
    }

    /// Reports whether a primary with this value at `place` knows the end.
    fileprivate func isKnown(by value: [UInt8]?) -> Bool {
        switch self {
        case .session, .record: return value == nil
        // A lineage without a ledger has no live records.
        case .lineage: return value?.elementsEqual("E".utf8) ?? true
        case .subject(_, let epoch):
            return (value.flatMap { UInt64(String(decoding: $0, as: UTF8.self)) } ?? 0) >= epoch
        }
    }

    /// The script call that writes the end. It may be run again.
    var call: ScriptCall {
        switch self {
        case .session(let key):
            ScriptCall(
                Scripts.endSession,
                keys: Keyspace.all(of: key) + [Keyspace.ending(key)],
                arguments: [RedisStore.digits(RedisStore.margin)]
            )
        case .record(let key):
            ScriptCall(
                Scripts.endRecord,
                keys: [Keyspace.record(key), Keyspace.lineage(key.lineage), Keyspace.ending(key)],
                arguments: [RedisStore.digits(RedisStore.margin)]
            )
        case .lineage(let lineage):
            ScriptCall(
                Scripts.endLineage,
                keys: [Keyspace.lineage(lineage), Keyspace.ending(lineage)],
                arguments: [RedisStore.digits(SingleUse.markerLife), RedisStore.digits(RedisStore.margin)]
            )
        case .subject(let name, let epoch):
            ScriptCall(
                Scripts.raiseEpoch,
                keys: [Keyspace.epoch(name)],
                arguments: [RedisStore.digits(RedisStore.longestLife + RedisStore.margin), Array("\(epoch)".utf8)]
            )
        }
    }
}
