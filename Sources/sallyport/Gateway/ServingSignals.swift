import Glibc
import UnixSignals

/// The signals that a serving process handles, in the order of their arrival. The signals that stop the process are
/// trapped last, so that a SIGTERM ends a start that is waiting.
struct ServingSignals: Sendable {
    /// Signals that are logged and otherwise ignored. Without a handler, they would end the process.
    static let ignored: [UnixSignal] = [.sigusr1, .sigusr2, .sigalrm]

    private static let stops: [UnixSignal] = [.sigterm, .sigint]

    let stream: AsyncStream<UnixSignal>
    /// True if the process ran in the foreground of a terminal when it started.
    let wasInForeground: Bool
    private let continuation: AsyncStream<UnixSignal>.Continuation

    /// Traps SIGHUP and the ignored signals before the settings are read. A reload that is requested during the start
    /// takes place once the gateway serves.
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

    /// Makes SIGHUP and the ignored signals do nothing until they are trapped. They get an empty handler, because
    /// signals with `SIG_IGN` could not be trapped.
    ///
    /// The first process of a container gets no signal without a handler (signal(7), pid_namespaces(7)). As that
    /// process, the gateway therefore handles the stop signals and ends itself.
    static func outlive() {
        for signal in [UnixSignal.sighup] + Self.ignored { Glibc.signal(signal.rawValue) { _ in } }
        guard getpid() == 1 else { return }
        for signal in Self.stops { Glibc.signal(signal.rawValue) { number in _exit(128 + number) } }
    }
}
