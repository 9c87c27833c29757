import RequestPath
import Testing

@Suite("Handshakes that wait for a turn of their loop")
struct HandshakeQueueTests {
    private final class Client: AwaitedHandshake {
        private(set) var count = 0
        /// What it does when its handshake begins.
        var next: () -> Void = {}

        func shakeHands() {
            self.count += 1
            self.next()
        }
    }

    @Test("a turn begins a few at once, and the rest in the order in which they came, a few in each turn")
    func order() {
        let queue = HandshakeQueue()
        let clients = (0..<(HandshakeQueue.perTurn * 2 + 3)).map { _ in Client() }
        var begun: [Int] = []
        for (index, client) in clients.enumerated() { client.next = { begun.append(index) } }
        for (index, client) in clients.enumerated() {
            #expect(queue.begin(client) == (index < HandshakeQueue.perTurn))
        }
        #expect(begun == Array(0..<HandshakeQueue.perTurn))
        for turns in 2...3 {
            #expect(queue.turnEnded())
            queue.goOn()
            #expect(begun == Array(0..<min(HandshakeQueue.perTurn * turns, clients.count)))
        }
        #expect(!queue.turnEnded())
        #expect(clients.allSatisfy { $0.count == 1 })
    }

    @Test("who comes while others wait does not go before them, also not in a turn that they begin")
    func fairness() {
        let queue = HandshakeQueue()
        let first = (0..<HandshakeQueue.perTurn).map { _ in Client() }
        let waiting = (0..<HandshakeQueue.perTurn).map { _ in Client() }
        for client in first + waiting { _ = queue.begin(client) }
        #expect(queue.turnEnded())
        let late = Client()
        // It arrives in the turn of those that wait, before them or after them.
        #expect(!queue.begin(late))
        queue.goOn()
        #expect(waiting.allSatisfy { $0.count == 1 } && late.count == 0)
        #expect(queue.turnEnded())
        queue.goOn()
        #expect(late.count == 1 && !queue.turnEnded())
    }

    @Test("a handshake that leads to another one in the same turn counts, too")
    func nested() {
        let queue = HandshakeQueue()
        let inner = Client()
        var isBegun: Bool?
        let clients = (0..<HandshakeQueue.perTurn).map { _ in Client() }
        clients.last?.next = { isBegun = queue.begin(inner) }
        for client in clients { _ = queue.begin(client) }
        #expect(isBegun == false && inner.count == 0)
    }
}
