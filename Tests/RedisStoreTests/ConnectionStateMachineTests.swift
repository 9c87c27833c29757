import NIOCore
import RedisStore
import Testing

@Suite struct ConnectionStateMachineTests {
    private typealias Machine = ConnectionStateMachine<Int>

    private let early = NIODeadline.uptimeNanoseconds(1000)
    private let late = NIODeadline.uptimeNanoseconds(2000)

    /// A ready machine with these commands waiting.
    private func machine(waiting handles: [Int] = [], maxPending: Int = 100) -> Machine {
        var machine = Machine(maxPending: maxPending)
        #expect(machine.connected(handshake: [], deadline: self.early) == true)
        for handle in handles { _ = machine.send(handle, deadline: self.late) }
        return machine
    }

    private func refusal(_ action: Machine.SendAction) -> RedisError.Cause? {
        if case .refuse(let cause) = action { cause } else { nil }
    }

    private func answer(_ action: Machine.ReplyAction) -> (Int, RedisReply)? {
        if case .answer(let handle, let reply) = action { (handle, reply) } else { nil }
    }

    private func closing(_ action: Machine.ReplyAction) -> Machine.Closing? {
        switch action {
        case .close(let closing), .answerAndClose(_, _, let closing): closing
        default: nil
        }
    }

    @Test(
        "A server's message before it closes is the reason for the end, whatever was asked first",
        arguments: ["DENIED Redis is running in protected mode", "ERR max number of clients reached"]
    )
    func farewell(_ line: String) {
        let error = RedisServerError(line: line)
        var greeting = Machine()
        _ = greeting.connected(handshake: [false, true], deadline: self.early)
        #expect(self.closing(greeting.received(.error(error)))?.refusal == error)
        #expect(greeting.lost(.closed) == nil)
        var asking = self.machine(waiting: [1, 2])
        let closing = self.closing(asking.received(.error(error)))
        #expect(closing?.refusal == error && closing?.failed == [2])
    }

    @Test("The n-th reply answers the n-th command")
    func order() {
        var machine = self.machine(waiting: [1, 2, 3])
        for handle in 1...3 {
            let answer = self.answer(machine.received(.integer(Int64(handle * 10))))
            #expect(answer?.0 == handle)
            #expect(answer?.1 == .integer(Int64(handle * 10)))
        }
        #expect(machine.deadline == nil)
        #expect(machine.deadline == nil)
    }

    @Test("An error reply is an ordinary answer")
    func errorReply() {
        var machine = self.machine(waiting: [1, 2])
        let error = RedisReply.error(RedisServerError(line: "ERR no"))
        #expect(self.answer(machine.received(error))?.1 == error)
        #expect(self.answer(machine.received(.null))?.0 == 2)
    }

    @Test("Nothing is sent before the handshake is over")
    func handshake() {
        var machine = Machine()
        #expect(self.refusal(machine.send(1, deadline: self.late)) == .notConnected)
        #expect(machine.connected(handshake: [true, false, true], deadline: self.early) == false)
        #expect(machine.deadline == self.early)
        if case .wait = machine.received(.status("OK")) {} else { Issue.record("it goes on") }
        #expect(self.refusal(machine.send(1, deadline: self.late)) == .notConnected)
        // The second need not succeed.
        if case .wait = machine.received(.error(RedisServerError(line: "NOPERM no"))) {
        } else {
            Issue.record("it goes on")
        }
        #expect(!machine.isReady)
        if case .becomeReady(.status("PONG")) = machine.received(.status("PONG")) {
        } else {
            Issue.record("it is ready")
        }
        #expect(machine.isReady)
        #expect(self.refusal(machine.send(1, deadline: self.late)) == nil)
    }

    @Test("A refused handshake ends the connection with the reason")
    func refusedHandshake() {
        var machine = Machine()
        _ = machine.connected(handshake: [true, true], deadline: self.early)
        let error = RedisServerError(line: "WRONGPASS no")
        let closing = self.closing(machine.received(.error(error)))
        #expect(closing?.refusal == error)
        #expect(closing?.failed.isEmpty == true)
        #expect(self.refusal(machine.send(1, deadline: self.late)) == .closed)
        // Later replies are ignored.
        if case .ignore = machine.received(.status("OK")) {} else { Issue.record("ignored") }
    }

    @Test("A handshake without an answer ends at its deadline")
    func hangingHandshake() {
        var machine = Machine()
        _ = machine.connected(handshake: [true], deadline: self.early)
        guard case .close(let closing) = machine.timerFired(at: self.early) else {
            Issue.record("it closes")
            return
        }
        #expect(closing.cause == .timedOut)
    }

    @Test("The head's deadline ends the connection for all waiting commands, in order")
    func deadline() {
        var machine = self.machine()
        _ = machine.send(1, deadline: self.early)
        _ = machine.send(2, deadline: self.late)
        #expect(machine.deadline == self.early)
        guard case .close(let closing) = machine.timerFired(at: self.early) else {
            Issue.record("it closes")
            return
        }
        #expect(closing.failed == [1, 2])
        #expect(closing.cause == .timedOut)
        // The late reply to the first command must not answer another.
        if case .ignore = machine.received(.integer(1)) {} else { Issue.record("ignored") }
        #expect(machine.lost(.closed) == nil)
        #expect(self.refusal(machine.send(3, deadline: self.late)) == .closed)
    }

    @Test("A timer whose command was answered waits for the next command")
    func movedDeadline() {
        var machine = self.machine()
        _ = machine.send(1, deadline: self.early)
        _ = machine.send(2, deadline: self.late)
        _ = machine.received(.null)
        guard case .wait(let until) = machine.timerFired(at: self.early) else {
            Issue.record("it waits")
            return
        }
        #expect(until == self.late)
        _ = machine.received(.null)
        if case .none = machine.timerFired(at: self.late) {} else { Issue.record("nothing waits") }
    }

    @Test("A reply without a command ends the connection")
    func unsolicited() {
        var machine = self.machine()
        #expect(self.closing(machine.received(.status("OK")))?.cause == .protocolError(.unsolicited))
    }

    @Test("The end fails all waiting commands, once", arguments: [RedisError.Cause.closed, .protocolError(.malformed)])
    func lost(cause: RedisError.Cause) {
        var machine = self.machine(waiting: [1, 2])
        let closing = machine.lost(cause)
        #expect(closing?.failed == [1, 2])
        #expect(closing?.cause == cause)
        #expect(machine.lost(.closed) == nil)
    }

    @Test(
        "A redirection to another node is answered and ends the connection",
        arguments: ["READONLY a", "MOVED 1 b", "NOAUTH"]
    )
    func elsewhere(line: String) {
        var machine = self.machine(waiting: [1, 2])
        let error = RedisServerError(line: line)
        guard case .answerAndClose(1, .error(error), let closing) = machine.received(.error(error)) else {
            Issue.record("it answers and closes")
            return
        }
        #expect(closing.failed == [2])
        #expect(closing.refusal == error)
    }

    @Test("Too many waiting commands are refused, not queued")
    func overloaded() {
        var machine = self.machine(waiting: [1, 2], maxPending: 2)
        #expect(self.refusal(machine.send(3, deadline: self.late)) == .overloaded)
        _ = machine.received(.null)
        #expect(self.refusal(machine.send(3, deadline: self.late)) == nil)
    }

    @Test("A draining connection answers its commands and then closes")
    func drain() {
        var machine = self.machine(waiting: [1, 2])
        #expect(machine.drain() == nil)
        #expect(self.refusal(machine.send(3, deadline: self.late)) == .shuttingDown)
        #expect(self.answer(machine.received(.null))?.0 == 1)
        guard case .answerAndClose(2, .null, let closing) = machine.received(.null) else {
            Issue.record("it closes with the last")
            return
        }
        #expect(closing.failed.isEmpty)
        var idle = self.machine()
        #expect(idle.drain()?.cause == .shuttingDown)
        #expect(idle.drain() == nil)
        var connecting = Machine()
        #expect(connecting.drain()?.cause == .shuttingDown)
        #expect(connecting.connected(handshake: [], deadline: self.late) == false)
    }
}

@Suite struct CircuitBreakerTests {
    @Test("There is one probe at a time; pauses double up to half a second; an answer resets them")
    func pauses() {
        var breaker = CircuitBreaker()
        #expect(breaker.state == .open)
        #expect(breaker.probe() == true)
        #expect(breaker.probe() == false)
        var pauses: [Duration] = []
        for _ in 0..<8 {
            pauses.append(breaker.failed(chance: 1))
            #expect(breaker.probe() == true)
            breaker.connected()
            #expect(breaker.state == .closed)
        }
        #expect(pauses == [20, 40, 80, 160, 320, 500, 500, 500].map { .milliseconds($0) })
        breaker.answered()
        #expect(breaker.failed(chance: 1) == .milliseconds(20))
        #expect(breaker.failed(chance: 0) == .milliseconds(20))
        #expect(breaker.failed(chance: 7) == .milliseconds(80))
    }
}
