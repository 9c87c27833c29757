import Cryptography
import NIOCore
import RedisStore
import Sessions
import Testing

@Suite struct SubscriptionStateMachineTests {
    private typealias Machine = SubscriptionStateMachine
    private typealias Action = SubscriptionStateMachine.Action

    private static let info = RedisReply.bulk(Array("role:master\r\nmaster_replid:aa\r\n".utf8))

    private static let feed = SubscriptionPlan(
        greeting: [
            HandshakeStep(RedisCommand("AUTH", "word")),
            HandshakeStep(RedisCommand("CLIENT", "SETNAME", "name"), isRequired: false),
        ],
        demandsPrimary: true,
        prefixes: ["a:", "b:"],
        channels: [SubscriptionPlan.keyChannel],
        handshakeTimeout: .milliseconds(250)
    )

    private static let sentinel = SubscriptionPlan(
        greeting: [],
        channels: ["+one", "+two"],
        handshakeTimeout: .milliseconds(250)
    )

    private func time(_ milliseconds: Int64) -> NIODeadline {
        .uptimeNanoseconds(1_000_000_000) + .milliseconds(milliseconds)
    }

    private static func array(_ words: String..., last: RedisReply? = nil) -> RedisReply {
        .array(words.map { .bulk(Array($0.utf8)) } + (last.map { [$0] } ?? []))
    }

    private static func subscribed(_ channel: String, count: Int64 = 1) -> RedisReply {
        Self.array("subscribe", channel, last: .integer(count))
    }

    private static func message(_ payload: RedisReply) -> RedisReply {
        Self.array("message", SubscriptionPlan.keyChannel, last: payload)
    }

    @Test("A server's message before it closes is the reason for the end, even for a step that need not succeed")
    func farewell() {
        var machine = Machine(Self.feed)
        _ = machine.connected(at: self.time(0))
        _ = machine.received(.status("OK"))
        let error = RedisServerError(line: "ERR max number of clients reached")
        #expect(machine.received(.error(error)) == .close(.closed, refusal: error))
    }

    /// A machine that has listened since time 0.
    private func listening(_ plan: SubscriptionPlan = Self.feed) -> Machine {
        var machine = Machine(plan)
        var action = machine.connected(at: self.time(0))
        machine.heard(at: self.time(0))
        if plan.demandsPrimary {
            for reply in [.status("OK"), .status("OK"), Self.info, .integer(7), .status("OK")] as [RedisReply] {
                if case .send = action {} else { Issue.record("a command leaves") }
                action = machine.received(reply)
            }
        }
        for channel in plan.channels { action = machine.received(Self.subscribed(channel)) }
        #expect(action == .becomeUp)
        #expect(machine.isUp)
        return machine
    }

    @Test("Each step follows the answer to the one before, and the connection redirects to itself")
    func handshake() {
        var machine = Machine(Self.feed)
        #expect(machine.deadline == nil)
        #expect(machine.connected(at: self.time(0)) == .send(RedisCommand("AUTH", "word")))
        #expect(machine.deadline == self.time(250))
        #expect(machine.received(.status("OK")) == .send(RedisCommand("CLIENT", "SETNAME", "name")))
        // A refused optional step does not end the handshake.
        let refused = RedisReply.error(RedisServerError(line: "NOPERM no"))
        #expect(machine.received(refused) == .send(RedisCommand("INFO", "replication")))
        #expect(machine.received(Self.info) == .send(RedisCommand("CLIENT", "ID")))
        let tracking = RedisCommand(
            "CLIENT",
            "TRACKING",
            "ON",
            "REDIRECT",
            "42",
            "BCAST",
            "PREFIX",
            "a:",
            "PREFIX",
            "b:"
        )
        #expect(machine.received(.integer(42)) == .send(tracking))
        #expect(machine.received(.status("OK")) == .send(RedisCommand("SUBSCRIBE", SubscriptionPlan.keyChannel)))
        #expect(!machine.isUp)
        #expect(machine.received(Self.subscribed(SubscriptionPlan.keyChannel)) == .becomeUp)
        #expect(machine.isUp)
        // It is connected once.
        #expect(machine.connected(at: self.time(1)) == .none)
    }

    @Test("Without prefixes nothing is tracked, and all channels must be confirmed in their order")
    func channels() {
        var machine = Machine(Self.sentinel)
        #expect(machine.connected(at: self.time(0)) == .send(RedisCommand("SUBSCRIBE", "+one", "+two")))
        #expect(machine.received(Self.subscribed("+one")) == .none)
        // The first one may already send messages.
        let early = Self.array("message", "+one", "x")
        let told = SubscriptionMessage(channel: "+one", payload: .text(Array("x".utf8)))
        #expect(machine.received(early) == .deliver(told))
        #expect(!machine.isUp)
        #expect(machine.received(Self.subscribed("+two", count: 2)) == .becomeUp)

        var crossed = Machine(Self.sentinel)
        _ = crossed.connected(at: self.time(0))
        #expect(crossed.received(Self.subscribed("+two")) == .close(.protocolError(.unsolicited)))
        var eager = Machine(Self.sentinel)
        _ = eager.connected(at: self.time(0))
        #expect(eager.received(Self.array("message", "+two", "x")) == .close(.protocolError(.unsolicited)))
    }

    @Test("A refusal of any required step ends it with the reason", arguments: 0..<6)
    func refused(step: Int) {
        var machine = Machine(Self.feed)
        _ = machine.connected(at: self.time(0))
        let replies: [RedisReply] = [.status("OK"), .status("OK"), Self.info, .integer(7), .status("OK")]
        for reply in replies.prefix(step) { _ = machine.received(reply) }
        let error = RedisServerError(line: "NOPERM no")
        let action = machine.received(.error(error))
        if step == 1 {
            #expect(action == .send(RedisCommand("INFO", "replication")))
        } else {
            #expect(action == .close(.closed, refusal: error))
            #expect(machine.received(.status("OK")) == .none)
            #expect(machine.deadline == nil)
        }
    }

    @Test("A replica, or a server that gives no connection id, is not listened to")
    func misplaced() {
        for reply in [.bulk(Array("role:slave\r\nmaster_replid:aa\r\n".utf8)), .null, .status("OK")] as [RedisReply] {
            var machine = Machine(Self.feed)
            _ = machine.connected(at: self.time(0))
            for _ in 0..<2 { _ = machine.received(.status("OK")) }
            #expect(machine.received(reply) == .close(.closed))
        }
        var machine = Machine(Self.feed)
        _ = machine.connected(at: self.time(0))
        for reply in [.status("OK"), .status("OK"), Self.info] as [RedisReply] { _ = machine.received(reply) }
        #expect(machine.received(.status("7")) == .close(.protocolError(.malformed)))
    }

    @Test("A handshake without an answer ends at its deadline, whatever else arrives meanwhile")
    func hangingHandshake() {
        var machine = Machine(Self.feed)
        _ = machine.connected(at: self.time(0))
        machine.heard(at: self.time(249))
        #expect(machine.timerFired(at: self.time(249)) == .none)
        #expect(machine.timerFired(at: self.time(250)) == .close(.timedOut))
        #expect(machine.lost(.closed) == .none)
    }

    @Test("Changed keys, the loss of all keys, and texts are passed on")
    func messages() {
        var machine = self.listening()
        let keys: [[UInt8]] = [Array("a:1".utf8), [], [0, 255]]
        let channel = SubscriptionPlan.keyChannel
        #expect(
            machine.received(Self.message(.array(keys.map { .bulk($0) })))
                == .deliver(SubscriptionMessage(channel: channel, payload: .keys(keys)))
        )
        #expect(
            machine.received(Self.message(.null)) == .deliver(SubscriptionMessage(channel: channel, payload: .allKeys))
        )
        #expect(
            machine.received(Self.message(.bulk([7])))
                == .deliver(SubscriptionMessage(channel: channel, payload: .text([7])))
        )
    }

    @Test("Any other message ends it, so that none is misread")
    func nonsense() {
        let replies: [RedisReply] = [
            .status("PONG"), .null, .integer(1), .error(RedisServerError(line: "ERR no")), .array([]),
            Self.array("message", "another", "x"), Self.array("message", SubscriptionPlan.keyChannel),
            Self.message(.integer(1)), Self.message(.array([.integer(1)])), Self.message(.array([.null])),
            Self.array("unsubscribe", SubscriptionPlan.keyChannel, last: .integer(0)),
            Self.subscribed(SubscriptionPlan.keyChannel), Self.array("pong", ""),
        ]
        for reply in replies {
            var machine = self.listening()
            #expect(machine.received(reply) == .close(.protocolError(.unsolicited)))
            #expect(machine.received(Self.message(.null)) == .none)
            #expect(machine.timerFired(at: self.time(10_000)) == .none)
        }
        var early = Machine(Self.feed)
        #expect(early.received(.status("OK")) == .close(.protocolError(.unsolicited)))
    }

    @Test("After each second of silence it subscribes again, and after three seconds it ends")
    func silence() {
        let again = Action.send(RedisCommand("SUBSCRIBE", SubscriptionPlan.keyChannel))
        var machine = self.listening()
        #expect(machine.deadline == self.time(1000))
        #expect(machine.timerFired(at: self.time(999)) == .none)
        #expect(machine.timerFired(at: self.time(1000)) == again)
        #expect(machine.deadline == self.time(2000))
        #expect(machine.timerFired(at: self.time(2000)) == again)
        #expect(machine.deadline == self.time(3000))
        #expect(machine.timerFired(at: self.time(3000)) == .close(.timedOut))
    }

    @Test("Any byte counts as a sign of life, and each unexpected sign ends it")
    func life() {
        var machine = self.listening()
        _ = machine.timerFired(at: self.time(1000))
        machine.heard(at: self.time(1001))
        #expect(machine.received(Self.subscribed(SubscriptionPlan.keyChannel)) == .none)
        #expect(machine.deadline == self.time(2001))
        // A part of a message.
        machine.heard(at: self.time(2000))
        #expect(machine.timerFired(at: self.time(2001)) == .none)
        #expect(machine.deadline == self.time(3000))
        #expect(
            machine.timerFired(at: self.time(4999)) == .send(RedisCommand("SUBSCRIBE", SubscriptionPlan.keyChannel))
        )
        #expect(machine.deadline == self.time(5000))
        machine.heard(at: self.time(5000))
        #expect(machine.received(Self.subscribed(SubscriptionPlan.keyChannel)) == .none)
        let unasked = Self.subscribed(SubscriptionPlan.keyChannel)
        #expect(machine.received(unasked) == .close(.protocolError(.unsolicited)))
    }

    @Test("Of several channels, the first gives the sign of life")
    func lifeOfSeveral() {
        var machine = self.listening(Self.sentinel)
        #expect(machine.timerFired(at: self.time(1000)) == .send(RedisCommand("SUBSCRIBE", "+one")))
        #expect(machine.received(Self.subscribed("+one", count: 2)) == .none)
        _ = machine.timerFired(at: self.time(2000))
        #expect(machine.received(Self.subscribed("+two", count: 2)) == .close(.protocolError(.unsolicited)))
    }

    @Test("It ends once")
    func lost() {
        var machine = self.listening()
        #expect(machine.lost(.shuttingDown) == .close(.shuttingDown))
        #expect(machine.lost(.closed) == .none)
        #expect(!machine.isUp)
    }
}

@Suite struct KeyspaceEndingsTests {
    private let lineage = Lineage(tag: "abcDEF-_09")
    private let name = String(repeating: "aZ0-_", count: 8) + "abc"
    private let digest: Digest256

    init() throws {
        self.digest = try #require(Digest256(base64URL: Array(self.name.utf8)[...]))
    }

    @Test("The name of a changed key says what has ended")
    func known() {
        let session = RecordKey(kind: .session, lineage: self.lineage, digest: self.digest)
        #expect(Keyspace.ended(byChangeOf: Keyspace.record(session)) == .sessionRecord(session))
        #expect(Keyspace.ended(byChangeOf: Keyspace.ending(self.lineage)) == .lineage(self.lineage))
        #expect(Keyspace.ended(byChangeOf: Keyspace.epoch(self.name)) == .subject(self.name))
        let record = RecordKey(kind: RecordKind(letter: UInt8(ascii: "y")), lineage: self.lineage, digest: self.digest)
        #expect(Keyspace.ended(byChangeOf: Keyspace.ending(session)) == .session(session))
        #expect(Keyspace.ended(byChangeOf: Keyspace.ending(record)) == .record(record))
        let document = DocumentName(collection: "clients", name: self.name)
        #expect(Keyspace.ended(byChangeOf: Keyspace.document(document)) == .document(document))
        for key in [
            Keyspace.record(session), Keyspace.ending(self.lineage), Keyspace.ending(record), Keyspace.epoch(self.name),
            Keyspace.document(document),
        ] {
            #expect(Keyspace.followedPrefixes.contains { key.starts(with: $0.utf8) })
        }
    }

    @Test("Writes for other reasons end nothing and are not reported")
    func others() {
        let session = RecordKey(kind: .session, lineage: self.lineage, digest: self.digest)
        let transfer = RecordKey(kind: .transfer, lineage: self.lineage, digest: self.digest)
        for key in [
            Keyspace.lineage(self.lineage), Keyspace.idle(session), Keyspace.marker(transfer),
            Keyspace.record(transfer), Keyspace.limit(self.name), Keyspace.once(self.name, tag: "ab"),
            Keyspace.directory("clients"),
        ] {
            #expect(Keyspace.ended(byChangeOf: key) == nil)
            #expect(!Keyspace.followedPrefixes.contains { key.starts(with: $0.utf8) })
        }
    }

    @Test("A name that no key of ours can have is ignored")
    func strangers() {
        let names = [
            "", "sp:s:", "sp:s:{", "sp:s:{}", "sp:s:{abcDEF-_09}", "sp:s:{abcDEF-_09}:", "sp:s:{abcDEF-_09}:short",
            "sp:s:{abcDEF-_09}:\(self.name)x", "sp:s:{abcDEF-_0}:\(self.name)", "sp:s:{abcDEF-_0!}:\(self.name)",
            "sp:s:abcDEF-_09:\(self.name)", "sp:s:{abcDEF-_09}\(self.name)", "sp:f:{abcDEF-_09}:x",
            "sp:f:{abcDEF-_090}", "sp:e:{short}", "sp:e:{\(self.name)}x", "sp:c:{client}", "sp:c:{client}:short",
            "sp:c:{}:\(self.name)", "sp:c:{Client}:\(self.name)", "sp:f:{abcDEF-_09}:y:x",
            "sp:f:{abcDEF-_09}:Y:\(self.name)", "sp:f:{abcDEF-_09}:y\(self.name)", "xp:f:{abcDEF-_09}",
            "sp:}:{abcDEF-_09", "sp:}:{abcDEF-_09}", "}p:f:{abcDEF-_09}",
            "sp;f:{abcDEF-_09}", "sp:f;{abcDEF-_09}", "sp:f:(abcDEF-_09}", "sp:ff{abcDEF-_09}",
        ]
        for name in names { #expect(Keyspace.ended(byChangeOf: Array(name.utf8)) == nil, "\(name)") }
    }
}
