package import NIOCore

/// The plan of one subscriber's connection: how it signs in, what it subscribes to, and after what silence it is lost.
package struct SubscriptionPlan: Sendable, Hashable {
    /// The commands that sign in.
    package var greeting: [HandshakeStep]
    /// True if the server must be a primary. A replica would report the ends of sessions later.
    package var demandsPrimary: Bool
    /// The server reports changes of keys with these prefixes over this connection; empty for no keys.
    package var prefixes: [String]
    /// The channels, at least one. If there are prefixes, `SubscriptionPlan.keyChannel` is among the channels.
    package var channels: [String]
    /// The maximum time from the connect to the last answer of the handshake.
    package var handshakeTimeout: Duration
    /// The silence after which the server is asked for a sign of life, and the interval until it is asked again.
    package var signInterval: Duration
    /// The silence after which the connection is treated as lost.
    package var patience: Duration

    /// The channel on which Redis announces changed keys.
    package static let keyChannel = "__redis__:invalidate"

    package init(
        greeting: [HandshakeStep],
        demandsPrimary: Bool = false,
        prefixes: [String] = [],
        channels: [String],
        handshakeTimeout: Duration,
        signInterval: Duration = .seconds(1),
        patience: Duration = .seconds(3)
    ) {
        self.greeting = greeting
        self.demandsPrimary = demandsPrimary
        self.prefixes = prefixes
        self.channels = channels
        self.handshakeTimeout = handshakeTimeout
        self.signInterval = signInterval
        self.patience = patience
    }
}

/// A message of a subscription.
package struct SubscriptionMessage: Sendable, Hashable {
    package enum Payload: Sendable, Hashable {
        /// A published text.
        case text([UInt8])
        /// The keys that have changed, expired or been deleted.
        case keys([[UInt8]])
        /// All keys were deleted (`FLUSHALL`, `FLUSHDB`).
        case allKeys
    }

    package let channel: String
    package let payload: Payload

    package init(channel: String, payload: Payload) {
        self.channel = channel
        self.payload = payload
    }
}

/// The state of one subscriber's connection, without its I/O. It signs in, subscribes, listens, and notices silence.
///
/// A connection that tracks keys redirects the notifications **to itself**. With a second connection for listening, the
/// loss of the tracking connection would go unnoticed.
///
/// Handshake commands are sent one at a time, because `CLIENT TRACKING` needs the answer to `CLIENT ID`.
package struct SubscriptionStateMachine {
    package enum Action: Sendable, Hashable {
        case none
        case send(RedisCommand)
        /// From now on, every message arrives.
        case becomeUp
        case deliver(SubscriptionMessage)
        /// The connection must be closed. `refusal` is the error reply that is the reason, if there is one.
        case close(RedisError.Cause, refusal: RedisServerError? = nil)
    }

    private enum Step {
        case greeting(HandshakeStep)
        /// Asks whether the server is a primary.
        case role
        /// Asks for the id of this connection.
        case ownID
        case tracking

        var isRequired: Bool { if case .greeting(let step) = self { step.isRequired } else { true } }
    }

    private enum Phase {
        case connecting
        /// Waiting for the answer to the first of these steps.
        case handshaking(ArraySlice<Step>)
        /// Waiting for the confirmation of the first of these channels.
        case subscribing(ArraySlice<String>)
        case listening
        case closed
    }

    private let plan: SubscriptionPlan
    private var phase = Phase.connecting
    private var handshakeDeadline = NIODeadline.distantFuture
    private(set) var lastHeard = NIODeadline.uptimeNanoseconds(0)
    private var lastAsked = NIODeadline.uptimeNanoseconds(0)
    /// The number of signs of life that were requested and have not arrived.
    private var pendingSigns = 0

    package init(_ plan: SubscriptionPlan) {
        self.plan = plan
    }

    /// True while the connection is subscribed to all its channels.
    package var isUp: Bool { if case .listening = self.phase { true } else { false } }

    /// The time when `timerFired` must be called; `nil` if never.
    package var deadline: NIODeadline? {
        switch self.phase {
        case .connecting, .closed: nil
        case .handshaking, .subscribing: self.handshakeDeadline
        case .listening: min(self.lostAt, self.askAt)
        }
    }

    // MARK: Events

    /// Records that the connection is open.
    package mutating func connected(at now: NIODeadline) -> Action {
        guard case .connecting = self.phase else { return .none }
        self.handshakeDeadline = now + TimeAmount(self.plan.handshakeTimeout)
        var steps = self.plan.greeting.map { Step.greeting($0) }
        if self.plan.demandsPrimary { steps.append(.role) }
        if !self.plan.prefixes.isEmpty { steps += [.ownID, .tracking] }
        return self.goOn(with: steps[...], after: .null)
    }

    /// Records that bytes have arrived, even if they are only a part of a message.
    package mutating func heard(at now: NIODeadline) {
        self.lastHeard = now
    }

    /// Handles a reply that has arrived.
    package mutating func received(_ reply: RedisReply) -> Action {
        switch self.phase {
        case .connecting: return self.close(.protocolError(.unsolicited))
        case .closed: return .none
        case .handshaking(let steps): return self.answered(steps, reply)
        case .subscribing(let channels):
            if case .error(let error) = reply { return self.close(.closed, refusal: error) }
            guard case .array(let parts) = reply, parts.count == 3, Self.says(parts[0], "subscribe"),
                let channel = channels.first, Self.says(parts[1], channel)
            else { return self.told(reply, of: self.plan.channels.prefix { $0 != channels.first }) }
            let rest = channels.dropFirst()
            self.phase = rest.isEmpty ? .listening : .subscribing(rest)
            return rest.isEmpty ? .becomeUp : .none
        case .listening: return self.told(reply, of: self.plan.channels[...])
        }
    }

    /// Handles the timer: asks for a sign of life, or gives the connection up.
    package mutating func timerFired(at now: NIODeadline) -> Action {
        guard let deadline = self.deadline, deadline <= now else { return .none }
        guard case .listening = self.phase, now < self.lostAt else { return self.close(.timedOut) }
        self.lastAsked = now
        self.pendingSigns += 1
        return .send(self.signOfLife)
    }

    /// Records that the connection is lost or useless. Returns `.none` if it had already ended.
    package mutating func lost(_ cause: RedisError.Cause) -> Action {
        if case .closed = self.phase { return .none }
        return self.close(cause)
    }

    // MARK: Steps

    private var lostAt: NIODeadline { self.lastHeard + TimeAmount(self.plan.patience) }
    private var askAt: NIODeadline { max(self.lastHeard, self.lastAsked) + TimeAmount(self.plan.signInterval) }

    /// The command that asks for a sign of life: a repeated subscription, which changes nothing. `PING` is not used,
    /// because a primary that cannot save refuses it with `MISCONF`, although it still sends messages.
    private var signOfLife: RedisCommand {
        RedisCommand("SUBSCRIBE", Array(self.plan.channels.prefix(1)).map { Array($0.utf8) })
    }

    private mutating func close(_ cause: RedisError.Cause, refusal: RedisServerError? = nil) -> Action {
        self.phase = .closed
        return .close(cause, refusal: refusal)
    }

    private mutating func answered(_ steps: ArraySlice<Step>, _ reply: RedisReply) -> Action {
        guard let step = steps.first else { return self.close(.protocolError(.unsolicited)) }
        if case .error(let error) = reply, step.isRequired || error.closesConnection {
            return self.close(.closed, refusal: error)
        }
        if case .role = step, RedisFacts(reply)?.isPrimary != true { return self.close(.closed) }
        return self.goOn(with: steps.dropFirst(), after: reply)
    }

    /// Sends the command of the first step, or subscribes if no step is left.
    private mutating func goOn(with steps: ArraySlice<Step>, after reply: RedisReply) -> Action {
        self.phase = .handshaking(steps)
        switch steps.first {
        case .greeting(let step): return .send(step.command)
        case .role: return .send(RedisCommand("INFO", "replication"))
        case .ownID: return .send(RedisCommand("CLIENT", "ID"))
        case .tracking:
            guard case .integer(let ownID) = reply else { return self.close(.protocolError(.malformed)) }
            let words = ["TRACKING", "ON", "REDIRECT", "\(ownID)", "BCAST"]
            let prefixes = self.plan.prefixes.flatMap { ["PREFIX", $0] }
            return .send(RedisCommand("CLIENT", (words + prefixes).map { Array($0.utf8) }))
        case nil:
            self.phase = .subscribing(self.plan.channels[...])
            return .send(RedisCommand("SUBSCRIBE", self.plan.channels.map { Array($0.utf8) }))
        }
    }

    /// Handles a reply that is not part of the handshake: a message on one of `channels`, or a sign of life.
    private mutating func told(_ reply: RedisReply, of channels: ArraySlice<String>) -> Action {
        guard case .array(let parts) = reply, let kind = parts.first else {
            return self.close(.protocolError(.unsolicited))
        }
        if parts.count == 3, Self.says(kind, "subscribe"), self.pendingSigns > 0, let first = self.plan.channels.first,
            Self.says(parts[1], first)
        {
            self.pendingSigns -= 1
            return .none
        }
        guard parts.count == 3, Self.says(kind, "message"),
            let channel = channels.first(where: { Self.says(parts[1], $0) }),
            let payload = SubscriptionMessage.Payload(parts[2])
        else { return self.close(.protocolError(.unsolicited)) }
        return .deliver(SubscriptionMessage(channel: channel, payload: payload))
    }

    private static func says(_ reply: RedisReply, _ text: String) -> Bool {
        if case .bulk(let bytes) = reply { bytes.elementsEqual(text.utf8) } else { false }
    }
}

extension SubscriptionMessage.Payload {
    /// Reads a payload; `nil` if Redis sends no payload in this form.
    fileprivate init?(_ reply: RedisReply) {
        switch reply {
        case .null: self = .allKeys
        case .bulk(let bytes): self = .text(bytes)
        case .array(let elements):
            var keys: [[UInt8]] = []
            keys.reserveCapacity(elements.count)
            for element in elements {
                guard case .bulk(let key) = element else { return nil }
                keys.append(key)
            }
            self = .keys(keys)
        case .integer, .status, .error: return nil
        }
    }
}
