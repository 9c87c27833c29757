import Glibc
import UnixSignals

/// The signals to a serving process, in order. The signals that stop it are trapped last: until then, SIGTERM ends a
/// start that waits for something.
struct ServingSignals: Sendable {
    /// Signals that are only logged. Without a handler, they would end the process.
    static let ignored: [UnixSignal] = [.sigusr1, .sigusr2, .sigalrm]

    private static let stops: [UnixSignal] = [.sigterm, .sigint]

    let stream: AsyncStream<UnixSignal>
    /// True if the process was started in the foreground of a terminal.
    let wasInForeground: Bool
    private let continuation: AsyncStream<UnixSignal>.Continuation

    /// Traps SIGHUP and the ignored signals. A SIGHUP during the start causes a reload after the start.
    init() async {
        self.wasInForeground = Terminal.isInForeground
        (self.stream, self.continuation) = AsyncStream.makeStream()
        await self.trap([.sighup] + Self.ignored)
    }

    func trapStops() async { await self.trap(Self.stops) }

    private func trap(_ signals: [UnixSignal]) async {
        let sequence = await UnixSignalsSequence(trapping: signals)
        let continuation = self.continuation
        Task { for await signal in sequence { continuation.yield(signal) } }
    }

    /// Makes SIGHUP and the ignored signals do nothing until they are trapped. Not `SIG_IGN`: such signals could not be
    /// trapped later.
    ///
    /// The first process of a container (pid 1) receives only signals that have a handler (pid_namespaces(7)). It
    /// therefore also gets handlers for the stop signals.
    static func outlive() {
        for signal in [UnixSignal.sighup] + Self.ignored { Glibc.signal(signal.rawValue) { _ in } }
        guard getpid() == 1 else { return }
        for signal in Self.stops { Glibc.signal(signal.rawValue) { number in _exit(128 + number) } }
    }
}
