import CLinux
package import Dispatch
import Glibc
package import NIOCore
import Synchronization
import Vocabulary

/// An event loop on one thread. It is an `EventLoop` of NIO, but its sockets are not NIO channels. `PipelineChannel`
/// makes a channel from a socket.
///
/// ```
///   wait for events ─▶ events ─▶ tasks of other threads ─▶ timers ─▶ tasks ─▶ end of the turn ─┐
///     ▲                                                                                         │
///     └─────────────────────────────────────────────────────────────────────────────────────────┘
/// ```
package final class TransportLoop: TurnLoop, TaskExecutor, @unchecked Sendable {
    private static let eventCapacity = 256
    /// The capacity of the read buffer that all sockets of the loop share.
    static let readCapacity = 65_536

    private let poll: Int32
    private let mail: LoopMail
    /// `pthread_self()` of the thread that runs the loop; 0 if no thread does.
    private let thread = Atomic<UInt>(0)

    // MARK: What only the loop's thread uses

    private let events: UnsafeMutablePointer<epoll_event>
    private let tasks = Batch<() -> Void>()
    private var timers = LoopTimers()
    private let turnEnds = Batch<any TurnEndTask>()
    /// Sockets whose input was not read completely.
    private let unread = Batch<StreamSocket>()
    private var sources: [EventSource] = []
    /// Sources that were removed in this turn.
    private var removed: [EventSource] = []
    private var readBuffer: ByteBuffer?
    /// The calls to make when the loop has ended; `nil` until a shutdown is requested.
    private var whenEnded: [@Sendable () -> Void]?

    /// Makes a loop that no thread runs yet.
    ///
    /// - Throws: `IOError` if the system has no descriptors left.
    package init() throws {
        self.poll = try System.check(epoll_create1(Int32(EPOLL_CLOEXEC)), "epoll_create1")
        let bell = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        guard bell >= 0 else {
            let error = System.error("eventfd")
            Glibc.close(self.poll)
            throw error
        }
        self.mail = LoopMail(descriptor: bell)
        self.events = .allocate(capacity: Self.eventCapacity)
        var event = epoll_event(events: Events.input | Events.once, data: epoll_data_t(ptr: nil))
        epoll_ctl(self.poll, EPOLL_CTL_ADD, bell, &event)
    }

    deinit {
        Glibc.close(self.poll)
        Glibc.close(self.mail.descriptor)
        self.events.deallocate()
    }

    // MARK: Running

    /// Runs the loop on this thread until it is shut down.
    func run() {
        self.thread.store(UInt(pthread_self()), ordering: .relaxed)
        var now = NIODeadline.now()
        while self.whenEnded == nil {
            now = self.turn(self.patience(now))
        }
        self.end()
        self.thread.store(0, ordering: .relaxed)
        for notify in self.whenEnded ?? [] { notify() }
    }

    /// Returns the milliseconds until something is due; -1 if only events and other threads can wake the loop.
    private func patience(_ now: NIODeadline) -> Int32 {
        if !self.tasks.isEmpty || !self.unread.isEmpty || !self.turnEnds.isEmpty { return 0 }
        guard let next = self.timers.next else { return -1 }
        let wait = (next - now).nanoseconds
        return wait <= 0 ? 0 : Int32(clamping: (wait + 999_999) / 1_000_000)
    }

    /// Runs one turn: waits for events, handles them, and runs the tasks and timers that are due.
    private func turn(_ patience: Int32) -> NIODeadline {
        let count = Int(epoll_wait(self.poll, self.events, Int32(Self.eventCapacity), patience))
        var index = 0
        while index < count {
            if let source = self.events[index].data.ptr {
                let events = self.events[index].events
                // `sources` or `removed` retains the source.
                Unmanaged<EventSource>.fromOpaque(source)._withUnsafeGuaranteedRef { $0.ready(events, on: self) }
            }
            index += 1
        }
        self.unread.drain { $0.readOn(self) }
        if !self.mail.isEmpty { for task in self.mail.take() { task() } }
        var now = NIODeadline.now()
        while let timer = self.timers.popDue(now) { timer.run() }
        if !self.tasks.isEmpty {
            self.tasks.drain { $0() }
            // Tasks may take long, so the clock is read again.
            now = .now()
        }
        self.turnEnds.drain { $0.turnEnded() }
        if !self.removed.isEmpty { self.removed.removeAll(keepingCapacity: true) }
        return now
    }

    /// Closes all sockets, runs the remaining tasks, and cancels all timers, including timers that the remaining tasks
    /// add.
    private func end() {
        while let source = self.sources.last { source.loopEnds() }
        for task in self.mail.close() { task() }
        // Each step may add work for the other steps.
        while !self.tasks.isEmpty || self.timers.next != nil || !self.sources.isEmpty {
            self.tasks.drain { $0() }
            for timer in self.timers.removeAll() { timer.end(EventLoopError.cancelled) }
            while let source = self.sources.last { source.loopEnds() }
        }
        self.removed = []
    }

    package func atTurnEnd(_ task: any TurnEndTask) {
        self.turnEnds.append(task)
    }

    // MARK: Sockets

    /// Registers a descriptor. Its events are reported to `source` until `close`.
    func add(_ source: EventSource, _ descriptor: Int32, events: UInt32) throws {
        guard self.control(EPOLL_CTL_ADD, source, descriptor, events) == 0 else { throw System.error("epoll_ctl") }
        self.keep(source)
    }

    /// Reports the events of a registered descriptor to another source until `close`. Events that have occurred are
    /// reported again.
    func handOver(_ descriptor: Int32, to source: EventSource, events: UInt32) {
        self.change(source, descriptor, events: events)
        self.keep(source)
    }

    /// Changes which events are reported.
    func change(_ source: EventSource, _ descriptor: Int32, events: UInt32) {
        _ = self.control(EPOLL_CTL_MOD, source, descriptor, events)
    }

    private func control(_ operation: Int32, _ source: EventSource, _ descriptor: Int32, _ events: UInt32) -> Int32 {
        let data = epoll_data_t(ptr: Unmanaged.passUnretained(source).toOpaque())
        var event = epoll_event(events: events, data: data)
        return epoll_ctl(self.poll, operation, descriptor, &event)
    }

    private func keep(_ source: EventSource) {
        source.listIndex = self.sources.count
        self.sources.append(source)
    }

    /// Unregisters and closes a descriptor. A forked process keeps the descriptor until `exec`. If it were only closed,
    /// its events would continue and reach a source that no longer exists.
    func close(_ descriptor: Int32) {
        epoll_ctl(self.poll, EPOLL_CTL_DEL, descriptor, nil)
        Glibc.close(descriptor)
    }

    /// Removes a source that has closed its descriptor or has handed it over.
    func remove(_ source: EventSource) {
        // Appended first, so that the source always has an owner: events are handled without retaining it.
        self.removed.append(source)
        guard let last = self.sources.popLast(), last !== source else { return }
        self.sources[source.listIndex] = last
        last.listIndex = source.listIndex
    }

    /// Calls `socket.readOn()` when the loop has next handled its events, in this turn or the next.
    func readSoon(_ socket: StreamSocket) {
        self.unread.append(socket)
    }

    /// Returns the empty read buffer. All sockets of the loop share it, so bytes that outlive the event must be copied.
    @inline(__always)
    func lendReadBuffer() -> ByteBuffer {
        self.readBuffer.take() ?? ByteBufferAllocator().buffer(capacity: Self.readCapacity)
    }

    @inline(__always)
    func giveBack(_ buffer: ByteBuffer) {
        self.readBuffer = buffer
    }

    // MARK: EventLoop

    package var inEventLoop: Bool { self.thread.load(ordering: .relaxed) == UInt(pthread_self()) }

    package func execute(_ task: @escaping @Sendable () -> Void) {
        if self.inEventLoop { self.tasks.append(task) } else { _ = self.mail.post(task) }
    }

    package func _executeIsolatedUnsafeUnchecked(_ task: @escaping () -> Void) {
        self.tasks.append(task)
    }

    package func submit<T>(_ task: @escaping @Sendable () throws -> T) -> EventLoopFuture<T> {
        let promise = self.makePromise(of: T.self)
        let work: @Sendable () -> Void = {
            do {
                promise.assumeIsolated().succeed(try task())
            } catch {
                promise.fail(error)
            }
        }
        if self.inEventLoop {
            self.tasks.append(work)
        } else if !self.mail.post(work) {
            promise.fail(EventLoopError.shutdown)
        }
        return promise.futureResult
    }

    package func scheduleTask<T>(deadline: NIODeadline, _ task: @escaping @Sendable () throws -> T) -> Scheduled<T> {
        let promise = self.makePromise(of: T.self)
        let timer = LoopTimer(
            deadline,
            work: {
                do {
                    promise.assumeIsolated().succeed(try task())
                } catch {
                    promise.fail(error)
                }
            },
            fail: { promise.fail($0) }
        )
        if self.inEventLoop {
            self.timers.add(timer)
        } else if !self.mail.post({ self.timers.add(timer) }) {
            promise.fail(EventLoopError.shutdown)
        }
        return Scheduled(
            promise: promise,
            cancellationTask: {
                if self.inEventLoop {
                    self.timers.cancel(timer)
                } else {
                    _ = self.mail.post { self.timers.cancel(timer) }
                }
            }
        )
    }

    package func scheduleTask<T>(in delay: TimeAmount, _ task: @escaping @Sendable () throws -> T) -> Scheduled<T> {
        self.scheduleTask(deadline: .now() + delay, task)
    }

    // MARK: Tasks

    package var taskExecutor: (any TaskExecutor)? { self }

    /// Runs a job of a Swift task on the loop, or on the global executor if the loop has ended.
    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let run: @Sendable () -> Void = { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        if self.inEventLoop {
            self.tasks.append(run)
        } else if !self.mail.post(run) {
            globalConcurrentExecutor.enqueue(job)
        }
    }

    package func shutdownGracefully(queue: DispatchQueue, _ callback: @escaping @Sendable ((any Error)?) -> Void) {
        let notify = { @Sendable in queue.async { callback(nil) } }
        let isOpen = self.mail.post { self.whenEnded = (self.whenEnded ?? []) + [notify] }
        if !isOpen { queue.async { callback(EventLoopError.shutdown) } }
    }
}
