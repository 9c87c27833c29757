import Glibc
import UnixSignals

/// The signals that a serving process handles, in the order in which they come. They are trapped in two steps, so that a
/// SIGTERM ends a start that waits for something.
struct ServingSignals: Sendable {
    /// Signals that nobody sends to stop a gateway, although a process that does not handle them ends.
    static let ignored: [UnixSignal] = [.sigusr1, .sigusr2, .sigalrm]

    /// Those that stop a gateway.
    private static let stops: [UnixSignal] = [.sigterm, .sigint]

    let stream: AsyncStream<UnixSignal>
    /// Whether the process ran in the foreground of a terminal when it started.
    let wasInForeground: Bool
    private let continuation: AsyncStream<UnixSignal>.Continuation

    /// Traps SIGHUP and the signals that are ignored, before the settings are read: a reload that is asked for from now on
    /// takes place when the gateway serves.
    init() async {
        self.wasInForeground = Terminal.isInForeground
        (self.stream, self.continuation) = AsyncStream.makeStream()
        await self.trap([.sighup] + Self.ignored)
    }

    /// Traps the signals that stop a gateway.
    func trapStops() async { await self.trap(Self.stops) }

    private func trap(_ signals: [UnixSignal]) async {
        let sequence = await UnixSignalsSequence(trapping: signals)
        let continuation = self.continuation
        Task { for await signal in sequence { continuation.yield(signal) } }
    }

    /// Has SIGHUP and the ignored signals do nothing until they are trapped. A signal that the system ignores
    /// (`SIG_IGN`) could not be trapped, so it gets a handler.
    ///
    /// As the first process of a container the gateway ends by the others itself: such a process gets no signal for which it
    /// has no handler (signal(7), pid_namespaces(7)).
    static func outlive() {
        for signal in [UnixSignal.sighup] + Self.ignored { Glibc.signal(signal.rawValue) { _ in } }
        guard getpid() == 1 else { return }
        for signal in Self.stops { Glibc.signal(signal.rawValue) { number in _exit(128 + number) } }
    }
}
