import Glibc
import NIOCore
import Synchronization
import Testing
import Transport

@Suite("Which name is resolved next") struct LookupQueueTests {
    private static func name(_ host: String) -> HostName { HostName(host, port: 80) }

    @Test func aNameIsInItOnce() {
        var queue = LookupQueue(lanes: 2)
        #expect(queue.add(Self.name("a"), isAwaited: true) == 0)
        #expect(queue.add(Self.name("a"), isAwaited: true) == nil)
        #expect(queue.next(of: 0) == Self.name("a"))
        // Who asks while it is being resolved gets that answer.
        #expect(queue.add(Self.name("a"), isAwaited: true) == nil)
        #expect(queue.next(of: 0) == nil)
        queue.finished(Self.name("a"))
        #expect(queue.add(Self.name("a"), isAwaited: false) == 1)
    }

    @Test func namesThatAreOnlyResolvedAgainLeaveALaneFree() {
        var queue = LookupQueue(lanes: 2)
        #expect(queue.add(Self.name("slow"), isAwaited: false) == 1)
        #expect(queue.next(of: 1) == Self.name("slow"))
        #expect(queue.add(Self.name("slower"), isAwaited: false) == nil)
        #expect(queue.add(Self.name("new"), isAwaited: true) == 0)
        #expect(queue.next(of: 0) == Self.name("new"))
        queue.finished(Self.name("new"))
        #expect(queue.next(of: 0) == nil)
        queue.finished(Self.name("slow"))
        #expect(queue.next(of: 1) == Self.name("slower"))
    }

    @Test func aNameForWhichSomebodyWaitsIsFirst() {
        var queue = LookupQueue(lanes: 1)
        #expect(queue.add(Self.name("a"), isAwaited: false) == 0)
        #expect(queue.add(Self.name("b"), isAwaited: false) == nil)
        #expect(queue.add(Self.name("c"), isAwaited: true) == nil)
        // It was to be resolved again, and now somebody waits.
        #expect(queue.add(Self.name("b"), isAwaited: true) == nil)
        var order: [String] = []
        while let name = queue.next(of: 0) {
            order.append(name.host)
            queue.finished(name)
        }
        #expect(order == ["c", "b", "a"])
    }
}

@Suite("The resolver of names") struct NameResolverTests {
    /// Each caller's answer, in any order.
    private static func answers(_ resolver: NameResolver, _ hosts: [String]) async -> [NameResolver.Answer] {
        await withTaskGroup(of: NameResolver.Answer.self) { group in
            for host in hosts {
                group.addTask {
                    await withCheckedContinuation { continuation in
                        resolver.resolve(HostName(host, port: 1), isAwaited: true) {
                            continuation.resume(returning: $0)
                        }
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    @Test func allWhoAskAtOnceGetOneAnswer() async throws {
        let count = Mutex(0)
        let gate = Gate()
        let address = try SocketAddress(ipAddress: "192.0.2.1", port: 1)
        let resolver = NameResolver("test", lanes: 1) { _ in
            count.withLock { $0 += 1 }
            gate.wait()
            return .success([address])
        }
        let received = Mutex(0)
        for _ in 0..<20 {
            resolver.resolve(HostName("app", port: 1), isAwaited: true) { _ in received.withLock { $0 += 1 } }
        }
        gate.open()
        // Names are resolved one after the other here, so these have their answers when the other one has.
        _ = await Self.answers(resolver, ["other"])
        #expect(received.withLock { $0 } == 20)
        #expect(count.withLock { $0 } == 2)
    }

    @Test func aNameThatHangsDoesNotKeepAnotherFromItsAnswer() async throws {
        let gate = Gate()
        defer { gate.open() }
        let address = try SocketAddress(ipAddress: "192.0.2.1", port: 1)
        let resolver = NameResolver("test", lanes: 2) { name in
            if name.host == "hangs" { gate.wait() }
            return .success([address])
        }
        for host in ["hangs", "hangs again"] {
            resolver.resolve(HostName(host, port: 1), isAwaited: false) { _ in }
        }
        let answers = await Self.answers(resolver, ["first"])
        #expect(answers == [.success([address])])
    }

    @Test func theSystemKnowsTheLoopbackAndNoInvalidName() async {
        let resolver = NameResolver("test", lanes: 2)
        let known = await Self.answers(resolver, ["localhost"])
        #expect((try? known.first?.get())?.isEmpty == false)
        let unknown = await Self.answers(resolver, ["nowhere.invalid"])
        #expect((try? unknown.first?.get()) == nil)
    }
}

/// Blocks threads until it is open.
private final class Gate: Sendable {
    private let isOpen = Mutex(false)

    func open() { self.isOpen.withLock { $0 = true } }

    func wait() {
        for _ in 0..<20_000 where !self.isOpen.withLock({ $0 }) { usleep(1000) }
    }
}
