import Calls
import Glibc
import Logging
import NIOCore
import Observability
import Operating
import Providers
import RequestPath
import Sessions
import Settings
import SignOn
import Synchronization
import UnixSignals

extension Gateway {
    /// Serves until SIGTERM or SIGINT. A second SIGTERM or SIGINT ends the process at once. SIGHUP reloads, but stops a
    /// foreground process whose terminal was closed.
    ///
    /// - Parameter pidFile: The file to remove at the end.
    func runUntilSignalled(pidFile: String? = nil) async {
        self.ending.withLock { $0.pidFile = pidFile }
        var stopping: Task<Void, Never>?
        for await signal in self.signals.stream {
            let isClosed = signal == .sighup && self.signals.wasInForeground && !Terminal.isThere
            if ServingSignals.ignored.contains(signal) {
                self.logger.warning(
                    "a signal without a meaning is ignored: SIGHUP reloads the settings, SIGTERM stops the gateway",
                    metadata: ["signal": "\(signal)"]
                )
            } else if signal == .sighup, !isClosed {
                await self.reloadSettings()
            } else if stopping == nil {
                // In a terminal, no load balancer has to notice the stop.
                let isByHand = isClosed || signal == .sigint && Terminal.isThere
                await self.announceStop("\(signal)", isByHand: isByHand)
                stopping = Task {
                    await self.drainAndStop(isByHand: isByHand)
                    // A second signal cuts requests off: status 1.
                    self.end(self.ending.withLock { $0.isCutShort } ? 1 : 0)
                }
            } else {
                self.ending.withLock { $0.isCutShort = true }
                self.logger.warning("stopping at once")
                await self.stopAtOnce()
            }
        }
    }

    /// Ends the process. Only the first call has an effect; all others block forever.
    private func end(_ status: Int32) -> Never {
        let (isFirst, pidFile) = self.ending.withLock { ending in
            defer { ending.hasBegun = true }
            return (!ending.hasBegun, ending.pidFile)
        }
        guard isFirst else { while true { pause() } }
        if let pidFile { PIDFile.release(pidFile) }
        self.terminal?.finish()
        Process.end(status)
    }

    /// Logs what the gateway waits for.
    private func announceStop(_ signal: String, isByHand: Bool) async {
        let drain = self.state.withLock { $0.settings.drain }
        guard isByHand else {
            return self.logger.info(
                "stopping",
                metadata: [
                    "signal": "\(signal)", "new_requests_for": "\(drain.delay)",
                    "running_requests_for": "\(drain.timeout)",
                ]
            )
        }
        let busy = await self.loops.busyCount()
        self.logger.info(
            busy == 0
                ? "stopping"
                : "stopping: waiting for \(busy == 1 ? "one request" : "\(busy) requests") under way, \(drain.timeout) at most; Ctrl-C again stops at once",
            metadata: ["signal": "\(signal)"]
        )
    }

    /// Ends the process at `deadline`, even if calls are under way. A supervisor might otherwise kill it, and its last
    /// log lines would be lost.
    private func stop(by deadline: ContinuousClock.Instant) {
        Task.detached {
            try? await Task.sleep(until: deadline)
            self.logger.warning("stopping at once: calls to the store or to a provider take too long")
            _ = self.logs.flush(timeout: .milliseconds(200))
            self.end(1)
        }
    }

    /// Closes all connections at once, and ends the process.
    private func stopAtOnce() async {
        // A blocked event loop must not delay the end.
        Task.detached {
            try? await Task.sleep(for: .seconds(1))
            self.end(1)
        }
        await self.loops.onEach { loop in
            loop.closeAll()
            loop.flushAccessLog()
        }
        _ = self.logs.flush(timeout: .milliseconds(200))
        self.end(1)
    }

    /// Stops in this order: readiness, new connections, requests under way, all other parts.
    ///
    /// - Parameter isByHand: True if a person waits. The listeners then close without a delay.
    func drainAndStop(isByHand: Bool = false) async {
        let drain = self.state.withLock { state in
            state.isDraining = true
            return state.settings.drain
        }
        let start = ContinuousClock.now
        let plan = StopPlan(drain, isByHand: isByHand)
        self.stop(by: start + plan.end)
        await self.loops.onEach { $0.drain() }
        let delay = isByHand ? .zero : drain.delay
        try? await Task.sleep(for: delay)
        // Some load balancers ignore readiness. Connections that they made just before the listener closes are served.
        let moment = min(delay, .milliseconds(20))
        for listener in self.listeners.withLock({ $0 }) {
            if moment > .zero { await listener.acceptQueued(within: moment) }
            await listener.close()
        }
        try? await Task.sleep(for: moment * 10)
        await self.loops.onEach { $0.closeIdle() }
        let deadline = start + plan.requests
        while ContinuousClock.now < deadline {
            if ContinuousClock.now >= start + plan.renewals { self.foundations.grants.beginNoMore() }
            // A request that begins after the first of the two counts is seen by the second.
            if await self.loops.busyCount() == 0, await self.loops.closeUnlessBusy() == 0 { break }
            try? await Task.sleep(for: .milliseconds(50))
        }
        await self.loops.onEach { $0.closeAll() }
        // A supervisor may not wait for providers and collectors, so the log is flushed first.
        await self.loops.onEach { $0.flushAccessLog() }
        _ = self.logs.flush(timeout: .milliseconds(500))
        async let lastSpans: Void? = self.traces?.stop(until: deadline)
        // Renewed tokens that are not stored yet would be lost.
        await self.foundations.grants.drain(until: start + plan.calls)
        await self.foundations.logoutTokens.drain(until: start + plan.calls)
        self.watch.shutDown()
        await lastSpans
        await self.foundations.providerClient.shutdown()
        await self.foundations.idTokenKeys.stop()
        await self.foundations.clientOverlay.stop()
        await self.foundations.records.blocks.stop()
        await self.foundations.provisioned.stop()
        await self.foundations.backing.stop()
        for server in self.management.withLock({ $0 }) { await server.close() }
        await self.admin.withLock { $0 }?.close()
        // Some requests ended after the event loops last wrote to the log.
        await self.loops.onEach { $0.flushAccessLog() }
        _ = self.logs.flush(timeout: .seconds(1))
        try? await self.providerGroup.shutdownGracefully()
        try? await self.group.shutdownGracefully()
    }
}
