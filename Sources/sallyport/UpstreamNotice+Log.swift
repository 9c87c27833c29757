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
