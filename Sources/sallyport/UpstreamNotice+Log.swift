import Logging
import RequestPath
import Vocabulary

extension UpstreamNotice {
    /// Writes a warning for the operator; the app is named in its fields.
    func log(to logger: Logger) {
        var metadata: Logger.Metadata = ["upstream": "\(self.upstream)", "reason": "\(self.reason.rawValue)"]
        if let field = self.field { metadata["field"] = "\(field)" }
        let place = self.field.map { "\($0): " } ?? ""
        let subject =
            switch self.reason {
            case .upstreamTLS: "no TLS with the app"
            default: "an answer of the app is refused"
            }
        logger.warning("\(subject): \(place)\(self.sentence); told once a minute", metadata: metadata)
    }
}

extension ServerNotice {
    /// Writes that a server of an app is left out, or serves again.
    func log(to logger: Logger) {
        let metadata: Logger.Metadata = ["upstream": "\(self.upstream)", "server": "\(self.server)"]
        if let fault = self.fault {
            logger.warning("a server of the app is left out: \(fault.sentence)", metadata: metadata)
        } else {
            logger.info("a server of the app serves again", metadata: metadata)
        }
    }
}
