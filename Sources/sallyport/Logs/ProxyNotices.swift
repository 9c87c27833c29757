import AddressIntelligence
import Logging
import RequestPath

/// Warns about missing, invalid and unexpected PROXY protocol headers, at most once a minute for each kind.
final class ProxyNotices: Sendable {
    private let lines = ProxyNotice.allCases.map { _ in SeldomLine() }
    private let logger: Logger

    init(logger: Logger) {
        self.logger = logger
    }

    func notify(_ notice: ProxyNotice, of peer: IPAddress) {
        guard let index = ProxyNotice.allCases.firstIndex(of: notice), let unsaid = self.lines[index].due() else {
            return
        }
        self.logger.warning(
            "\(notice.sentence); logged once a minute",
            metadata: ["peer": "\(peer)", "untold": "\(unsaid)"]
        )
    }
}

extension ProxyNotice {
    fileprivate var sentence: String {
        switch self {
        case .unexpected:
            "a client sent what looks like the PROXY protocol, and was refused: if it is your proxy, set proxy_protocol at this address of listen"
        case .malformed:
            "a peer in proxy_protocol does not begin with a valid header of the PROXY protocol: turn it on there (HAProxy: send-proxy-v2), or list only proxies"
        case .late:
            "a peer in proxy_protocol has sent no complete header of the PROXY protocol within 5 seconds"
        case .refused:
            "a peer that is not in proxy_protocol was refused: add it if it is your proxy, or write others: plain"
        }
    }
}
