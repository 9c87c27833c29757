import Cryptography
package import NIOCore
package import NIOSSL
package import Settings
import Synchronization
import Vocabulary

/// An app, shared by all loops: its servers and its TLS settings.
package final class UpstreamTarget: Sendable {
    package let settings: UpstreamSettings
    /// The first server of the settings.
    package let first: UpstreamServer
    /// All servers, in the order of the settings.
    package let servers: [UpstreamServer]
    /// Whether the settings list several servers.
    let isList: Bool
    private let security: Mutex<Security>

    private struct Security {
        var context: NIOSSLContext?
        /// The digests of the files at the time when the context was made.
        var files: [Digest256?]
        /// The files as they were last seen on disk.
        var marks: [FileMark?]
    }

    /// When the next notice about the app may be sent, by reason.
    private let silences = Mutex<[Reason: NIODeadline]>([:])

    /// - Parameters:
    ///   - former: The app's earlier target. With unchanged TLS, its unchanged servers are kept.
    ///   - names: How the names of the servers are resolved.
    /// - Throws: An error that names the unusable TLS file, or says why TLS cannot be set up.
    package init(
        _ settings: UpstreamSettings,
        keeping former: UpstreamTarget? = nil,
        names: AppNames = AppNames()
    ) throws(UpstreamTLSError) {
        // Taken before the files are read, so that the next `renewTLS` notices a change in between.
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

    /// A server that may be chosen. It may be one of several addresses of a server in the settings.
    struct Place {
        let server: UpstreamServer
        /// The index of the server in the settings.
        let index: Int
    }

    /// All current servers, limited to the number that a group can have.
    var places: [Place] {
        let limit = ServerSettings.limit / max(self.servers.count, 1)
        return self.servers.enumerated().flatMap { index, server in
            server.places(limit: limit).map { Place(server: $0, index: index) }
        }
    }

    /// A number that changes when `places` may have changed.
    var placesVersion: UInt32 { self.servers.reduce(0) { $0 &+ $1.currentPlacesVersion } }

    /// The TLS context for new connections to the app. `nil` without TLS.
    package var tls: NIOSSLContext? { self.security.withLock { $0.context } }

    private var files: [Digest256?] { self.security.withLock { $0.files } }

    /// Reads the TLS files again if they were replaced, and outdates connections made with earlier files. Blocks.
    ///
    /// - Returns: True if new files are used now.
    /// - Throws: An error that names the unusable TLS file, or says why TLS cannot be set up. The earlier files stay in
    ///   use, and the next call tries again.
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

    /// Returns a target for the settings: one of `former` if its settings and files are equal, otherwise a new one.
    /// Targets and servers that stay keep their connections.
    ///
    /// - Throws: An error that names the unusable TLS file, or says why TLS cannot be set up.
    package static func make(
        _ settings: UpstreamSettings,
        keeping former: [UpstreamTarget],
        names: AppNames = AppNames()
    ) throws(UpstreamTLSError) -> UpstreamTarget {
        let former = former.first { $0.settings.name == settings.name }
        if let former, former.settings == settings, former.files == UpstreamTLS.digests(settings) { return former }
        return try UpstreamTarget(settings, keeping: former, names: names)
    }

    /// Returns whether the operator may be notified for this reason now: once a minute, for all loops together.
    func mayReport(_ reason: Reason, now: NIODeadline) -> Bool {
        self.silences.withLock { silences in
            if let end = silences[reason], now < end { return false }
            silences[reason] = now + .minutes(1)
            return true
        }
    }

    /// Whether the name of a server is still being resolved for the first time.
    package var awaitsFirstAddresses: Bool {
        self.servers.contains { server in server.nameState.map { $0.addresses.isEmpty && $0.isRunning } ?? false }
    }

    /// Resolves the names that are due, in the background.
    package func refreshNames(now: NIODeadline) {
        for server in self.servers { server.refreshIfDue(now: now) }
    }

    /// Resolves the names of all servers again in the background, each at most once a second.
    package func refreshNamesSoon(now: NIODeadline) {
        for server in self.servers { server.refreshSoon(now: now) }
    }
}

extension UpstreamSettings {
    /// Returns whether TLS with the app has equal settings.
    fileprivate func hasTLS(of other: UpstreamSettings) -> Bool {
        self.isHTTPS == other.isHTTPS && self.caFile == other.caFile && self.certificateFile == other.certificateFile
            && self.keyFile == other.keyFile
    }
}
