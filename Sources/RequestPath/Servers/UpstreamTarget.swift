import Cryptography
package import NIOCore
package import NIOSSL
package import Settings
import Synchronization
import Vocabulary

/// One app, shared by all loops: its servers and its TLS settings.
package final class UpstreamTarget: Sendable {
    package let settings: UpstreamSettings
    /// The server, or the first of several.
    package let first: UpstreamServer
    /// All servers, in the order of the settings.
    package let servers: [UpstreamServer]
    /// Whether the settings have several.
    let isList: Bool
    /// How TLS with the app is set up now.
    private let security: Mutex<Security>

    private struct Security {
        var context: NIOSSLContext?
        /// What was in the files of the settings.
        var files: [Digest256?]
        /// The files as they were seen last.
        var marks: [FileMark?]
    }

    /// Until when nothing more is told about the app, by reason.
    private let silences = Mutex<[Reason: NIODeadline]>([:])

    /// - Parameters:
    ///   - former: What the app was; servers that are the same go on.
    ///   - names: How the names of its servers are resolved.
    /// - Throws: The name of the first TLS file that cannot be used.
    package init(
        _ settings: UpstreamSettings,
        keeping former: UpstreamTarget? = nil,
        names: AppNames = AppNames()
    ) throws(UpstreamTLSError) {
        // Before they are read: what is replaced meanwhile is found by the next look.
        let marks = UpstreamTLS.files(settings).map { FileMark($0) }
        let files = UpstreamTLS.digests(settings)
        var kept: [UpstreamServer] = []
        if let former, former.files == files, former.settings.hasTLS(of: settings) {
            self.security = Mutex(Security(context: former.tls, files: files, marks: marks))
            kept = former.servers
        } else {
            let context = settings.isHTTPS ? try UpstreamTLS.context(settings) : nil
            self.security = Mutex(Security(context: context, files: files, marks: marks))
        }
        func server(_ server: ServerSettings) -> UpstreamServer {
            let name = server.serverName ?? settings.serverName
            guard let same = kept.first(where: { $0.isSame(as: server, name) }) else {
                return UpstreamServer(server, of: settings, name: name, names: names)
            }
            same.adopt(settings)
            return same
        }
        let first = server(settings.first)
        self.settings = settings
        self.first = first
        self.servers = [first] + settings.others.map(server)
        self.isList = !settings.others.isEmpty
    }

    /// One server that may be chosen, which may be one of several addresses of a server in the settings.
    struct Place {
        let server: UpstreamServer
        /// The index in the settings.
        let index: Int
    }

    /// All servers as they are now, as many as a group can have.
    var places: [Place] {
        let limit = ServerSettings.limit / max(self.servers.count, 1)
        return self.servers.enumerated().flatMap { index, server in
            server.places(limit: limit).map { Place(server: $0, index: index) }
        }
    }

    /// Differs when `places` may do.
    var placesVersion: UInt32 { self.servers.reduce(0) { $0 &+ $1.currentPlacesVersion } }

    /// TLS with the app; nil: without. Connections keep that with which they were made.
    package var tls: NIOSSLContext? { self.security.withLock { $0.context } }

    private var files: [Digest256?] { self.security.withLock { $0.files } }

    /// Looks whether the files of its TLS were replaced, and takes renewed ones into use. Connections that were made with the
    /// former ones serve nobody any more. It blocks.
    ///
    /// - Returns: Whether others are in use now.
    /// - Throws: The name of the first file that cannot be used; the former ones stay, and the next look tries again.
    package func renewTLS() throws(UpstreamTLSError) -> Bool {
        let marks = UpstreamTLS.files(self.settings).map { FileMark($0) }
        guard marks != self.security.withLock({ $0.marks }) else { return false }
        let files = UpstreamTLS.digests(self.settings)
        guard files != self.files else {
            self.security.withLock { $0.marks = marks }
            return false
        }
        let context = try UpstreamTLS.context(self.settings)
        self.security.withLock { $0 = Security(context: context, files: files, marks: marks) }
        for server in self.servers { server.outdateConnections() }
        return true
    }

    /// The target of these settings: one of `former` that has equal settings and files, or a new one. A target that stays
    /// keeps its connections, and so does each server that stays.
    ///
    /// - Throws: The name of the first TLS file that cannot be used.
    package static func make(
        _ settings: UpstreamSettings,
        keeping former: [UpstreamTarget],
        names: AppNames = AppNames()
    ) throws(UpstreamTLSError) -> UpstreamTarget {
        let former = former.first { $0.settings.name == settings.name }
        if let former, former.settings == settings, former.files == UpstreamTLS.digests(settings) { return former }
        return try UpstreamTarget(settings, keeping: former, names: names)
    }

    /// Whether the operator may be told something for this reason now: once a minute, for all loops together.
    func mayReport(_ reason: Reason, now: NIODeadline) -> Bool {
        self.silences.withLock { silences in
            if let end = silences[reason], now < end { return false }
            silences[reason] = now + .minutes(1)
            return true
        }
    }

    /// Whether a name of its servers is still being resolved for the first time.
    package var awaitsFirstAddresses: Bool {
        self.servers.contains { server in server.nameState.map { $0.addresses.isEmpty && $0.isRunning } ?? false }
    }

    /// Resolves the names of servers for which it is time, in the background.
    package func refreshNames(now: NIODeadline) {
        for server in self.servers { server.refreshIfDue(now: now) }
    }

    /// Resolves the names of all servers again as soon as they have rested, in the background.
    package func refreshNamesSoon(now: NIODeadline) {
        for server in self.servers { server.refreshSoon(now: now) }
    }
}

extension UpstreamSettings {
    /// Whether TLS with the app is set up in the same way.
    fileprivate func hasTLS(of other: UpstreamSettings) -> Bool {
        self.isHTTPS == other.isHTTPS && self.caFile == other.caFile && self.certificateFile == other.certificateFile
            && self.keyFile == other.keyFile
    }
}
