import NIOCore
import Settings

/// Decides which servers are in use, by the loop's requests and health checks. An app's only server is always in use.
extension ServerGroup {
    /// Called with the status of an answer, unless `ServerPool.countsOnly` has counted it.
    func answered(_ pool: ServerPool, _ status: Int) {
        guard let place = self.place(of: pool) else { return }
        self.count(status, place)
        self.follow(self.roster.entries[place].health.answered(status), place, .status(status))
        self.setCalm(place)
    }

    /// Counts the status of an answer, or 0 if there was none.
    private func count(_ status: Int, _ place: Int) {
        if let ids = self.members[place].ids { self.loop.metrics.serverAnswered(ids, status: status) }
    }

    /// Sets whether successful answers must be reported to the group. Called when a server's state may have changed.
    private func setCalm(_ place: Int) {
        let member = self.members[place]
        member.pool.calmIDs = self.roster.entries[place].health.isCalm ? member.ids : nil
    }

    /// Called when a connect has failed, or a connection has ended before an answer. Not called if a reused connection
    /// ends unanswered.
    func failed(_ pool: ServerPool, _ fault: ServerNotice.Fault) {
        guard let place = self.place(of: pool) else { return }
        self.count(0, place)
        let isSuspect = pool.server.news.isOut
        self.follow(self.roster.entries[place].health.failed(isSuspect: isSuspect), place, fault)
        self.setCalm(place)
    }

    /// Called when an answer is malformed or late, or a reused connection has ended unanswered. The cause may be one
    /// page or the age of the connection, so this does not eject the server. It does not bring an ejected server back
    /// either.
    func disappointed(_ pool: ServerPool, _ fault: ServerNotice.Fault) {
        guard let place = self.place(of: pool) else { return }
        self.count(0, place)
        self.follow(self.roster.entries[place].health.disappointed(), place, fault)
        self.setCalm(place)
    }

    private func follow(_ verdict: ServerHealth.Verdict, _ place: Int, _ fault: ServerNotice.Fault) {
        guard !self.isRetired else { return }
        switch verdict {
        case .none: break
        case .unfit where !self.roster.mayLoseOne: break
        case .unfit, .stillOut: self.leaveOut(place, fault)
        case .back:
            let now = self.loop.now
            self.roster.entries[place].health.comeBack(now: now)
            self.comesBack(place)
            if self.members[place].pool.server.news.returns(now: now) { self.notify(place, nil) }
        }
    }

    private func leaveOut(_ place: Int, _ fault: ServerNotice.Fault) {
        let news = self.members[place].pool.server.news
        let isFirst = news.leaves(again: !self.roster.entries[place].health.isServing)
        self.roster.entries[place].health.leave(now: self.loop.now, percent: self.roster.random(below: 20))
        self.countOut()
        if isFirst { self.ejected(place, fault) }
    }

    /// Counts an ejection once for all loops. Called by the loop that finds the fault first.
    private func ejected(_ place: Int, _ fault: ServerNotice.Fault) {
        self.members[place].ejections += 1
        if let ids = self.members[place].ids { self.loop.metrics.serverEjected(ids) }
        self.notify(place, fault)
    }

    /// Sends requests to the server again, few at first with `slow_start`.
    private func comesBack(_ place: Int) {
        self.roster.entries[place].growsSince = self.loop.now
        self.grow(place)
        self.countOut()
    }

    private func grow(_ place: Int) {
        self.roster.grow(place, now: self.loop.now, period: self.target.settings.slowStart)
    }

    /// Counts the ejected members and shows them in the metrics.
    private func countOut() {
        self.roster.countOut()
        for place in self.members.indices {
            let isOut = !self.roster.entries[place].isServing
            guard isOut != self.members[place].isShownOut, let ids = self.members[place].ids else { continue }
            self.members[place].isShownOut = isOut
            self.loop.metrics.serverOut(ids, isOut ? 1 : -1)
        }
        self.setEven()
    }

    private func notify(_ place: Int, _ fault: ServerNotice.Fault?) {
        let server = self.members[place].pool.server.name
        self.loop.onServerNotice?(ServerNotice(upstream: self.target.settings.name, server: server, fault: fault))
    }

    // MARK: The loop

    /// Called when the members or the settings have changed.
    func followSettings() {
        for place in self.members.indices {
            if self.target.settings.health == nil {
                self.roster.entries[place].isDown = false
                if self.members[place].pool.server.news.found(isDown: false) { self.notify(place, nil) }
            }
            self.grow(place)
        }
        self.countOut()
    }

    /// Updates a server's state and starts its checks when they are due. Called several times a second.
    func watch(_ place: Int) {
        self.setCalm(place)
        if self.roster.outCount > 0 { self.seek(place) }
        self.grow(place)
        guard let health = self.target.settings.health else { return }
        let isDown = self.members[place].pool.server.news.isDown
        if isDown != self.roster.entries[place].isDown {
            self.roster.entries[place].isDown = isDown
            if isDown { self.countOut() } else { self.comesBack(place) }
        }
        if self.loop.checksServers { self.check(place, health) }
    }

    /// Connects to a server whose probe is overdue because no request has come that could be the probe.
    private func seek(_ place: Int) {
        let (pool, now) = (self.members[place].pool, self.loop.now)
        self.roster.entries[place].health.heard(pool.server.news.backAt)
        guard !self.roster.entries[place].isDown,
            self.roster.entries[place].health.awaitsProbe(now: now - ServerHealth.patience)
        else { return }
        self.roster.entries[place].health.probe(now: now)
        pool.seek { isConnected in
            guard let place = self.place(of: pool) else { return }
            self.follow(self.roster.entries[place].health.found(isConnected), place, .unreachable)
            self.setCalm(place)
        }
    }

    // MARK: Checks

    /// Starts a health check of a server if one is due.
    private func check(_ place: Int, _ health: HealthSettings) {
        guard self.members[place].checks.begin(now: self.loop.now, every: TimeAmount(health.interval)) else { return }
        let pool = self.members[place].pool
        pool.check(health) { fault in
            guard let place = self.place(of: pool) else { return }
            if fault == .notMade { return self.members[place].checks.skip() }
            let verdict = self.members[place].checks.end(fault == nil, health)
            guard !self.isRetired, self.target.settings.health != nil, let verdict else { return }
            guard pool.server.news.found(isDown: verdict) else { return }
            if verdict, let fault { self.ejected(place, .check(fault)) } else { self.notify(place, nil) }
        }
    }
}
