import Glibc
import Observability
import Operating
import Settings

/// The terminal in which the process was started.
enum Terminal {
    /// True if standard output is a terminal.
    static var isShown: Bool { isatty(STDOUT_FILENO) == 1 }

    /// True if the process has a terminal, so that somebody may press Ctrl-C.
    static var isThere: Bool { isatty(STDIN_FILENO) == 1 || self.isShown }

    /// True if the process is in its terminal's foreground. A background process (`&`) may outlive the terminal.
    static var isInForeground: Bool {
        [STDIN_FILENO, STDOUT_FILENO].contains { isatty($0) == 1 && tcgetpgrp($0) == getpgrp() }
    }

    /// Returns a log that shows lines as text; `nil` if they are written as JSON.
    static func log(_ settings: LogSettings) -> TerminalLog? {
        switch settings.format {
        case .json: nil
        case .text: TerminalLog(output: Process.standardOutput)
        case .auto: self.isShown ? TerminalLog(output: Process.standardOutput) : nil
        }
    }
}

extension Settings {
    /// The first line on a terminal, e.g. `ready: http://localhost/ -> http://127.0.0.1:3000, sign-in by OpenID at
    /// https://id.test, sessions in memory`
    var readyLine: String {
        let host = self.hosts.first { !$0.publicURL.isWildcard } ?? self.hosts.first
        let url = host.map { "\($0.publicURL)/" } ?? "no host"
        let app = host?.routes.lazy.compactMap(\.upstream).first
        let servers = self.upstreams.first { $0.name == app }?.servers.map(\.origin) ?? []
        let others = self.hosts.count > 1 ? " and \(self.hosts.count - 1) more" : ""
        let target = servers.isEmpty ? "the apps of another proxy" : servers.joined(separator: ", ")
        let ways = self.providers.map(\.settings.title)
        let signIn = ways.isEmpty ? "nobody signs in" : "sign-in by \(ways.joined(separator: " or "))"
        return
            "ready: \(url)\(others) -> \(target), \(signIn), sessions in \(self.store.title)"
    }
}
