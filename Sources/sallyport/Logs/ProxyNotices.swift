import AddressIntelligence
import Logging
import RequestPath

/// Warns about missing, invalid or unexpected PROXY protocol headers. Each warning is logged at most once a minute.
final class ProxyNotices: Sendable {
    private let lines = ProxyNotice.allCases.map { _ in SeldomLine() }
    private let logger: Logger

    init(logger: Logger) {
        self.logger = logger
    }

    func tell(_ notice: ProxyNotice, of peer: IPAddress) {
        guard let index = ProxyNotice.allCases.firstIndex(of: notice), let unsaid = self.lines[index].due() else {
            return
        }
        self.logger.warning(
            "\(notice.sentence); told once a minute",
            metadata: ["peer": "\(peer)", "untold": "\(unsaid)"]
        )
    }
}

extension ProxyNotice {
    fileprivate var sentence: String {
        switch self {
        case .unexpected:
            "bytes of a client look like the PROXY protocol and were refused: if it is your proxy, set proxy_protocol at this address of listen"
        case .malformed:
            "a peer that proxy_protocol names does not begin with a header of the PROXY protocol that is right: turn it on there (HAProxy: send-proxy-v2), or name only proxies"
        case .late:
            "a peer that proxy_protocol names has sent no whole header of the PROXY protocol within 5 seconds"
        case .refused:
            "a peer that proxy_protocol does not name was refused: name it if it is your proxy, or write others: plain"
        }
    }
}
